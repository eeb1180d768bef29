//! How old a report can be, if the lock does not say.
//!
//! A worker writes one message after the other, so no report is older than the message before it.
//! The driver reads what is there at once. So a message that was not there when an earlier one was
//! read was written after that. Only the driver itself may be late: what it reads in one go has
//! arrived for it at the same time. A delay of a tenth of a lease or more is in the history, as a
//! stall; so a message that arrived at least that long ago was read on its own.

/// The driver may be late by this part of a lease without saying so.
const PART_OF_LEASE: u64 = 10;

/// What is known of the last answer of a worker in an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LastAnswer {
    /// What the worker writes from now on was not written before this time.
    since_ns: u64,
    /// When a message arrived that may be part of the next delivery.
    arrived_ns: u64,
    late_ns: u64,
}

impl LastAnswer {
    /// The request of an attempt for a lease of `ttl_ns` was sent: the worker answers later.
    pub(super) fn after_request(sent_ns: u64, ttl_ns: u64) -> Self {
        LastAnswer {
            since_ns: sent_ns,
            arrived_ns: sent_ns,
            late_ns: ttl_ns / PART_OF_LEASE,
        }
    }

    /// A message arrives. Returns the earliest time at which it can have been written.
    pub(super) fn arrived(&mut self, at_ns: u64) -> u64 {
        if self.arrived_ns <= at_ns.saturating_sub(self.late_ns) {
            self.since_ns = self.since_ns.max(self.arrived_ns);
            self.arrived_ns = at_ns;
        }
        self.since_ns
    }

    /// The message itself says that it was not written before this time.
    pub(super) fn written(&mut self, not_before_ns: u64) {
        self.since_ns = self.since_ns.max(not_before_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_no_older_than_the_answer_before_it() {
        let mut last = LastAnswer::after_request(0, 1000);
        assert_eq!(last.arrived(200), 0);
        assert_eq!(last.arrived(500), 200);
        assert_eq!(last.arrived(1000), 500);
    }

    /// Messages that arrive together may have been written at any time since the delivery before.
    #[test]
    fn messages_that_arrive_together_say_nothing_about_each_other() {
        let mut last = LastAnswer::after_request(0, 1000);
        assert_eq!(last.arrived(500), 0);
        assert_eq!(last.arrived(599), 0);
        assert_eq!(last.arrived(600), 500);
        assert_eq!(last.arrived(650), 500);
        assert_eq!(last.arrived(700), 600);
    }

    #[test]
    fn a_message_that_says_when_it_was_written_bounds_the_next_one() {
        let mut last = LastAnswer::after_request(0, 1000);
        assert_eq!(last.arrived(820), 0);
        last.written(800);
        assert_eq!(last.arrived(830), 800);
    }
}

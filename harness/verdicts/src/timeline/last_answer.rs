//! Bounds on the age of a report that does not state its age.
//!
//! A worker writes its messages in order, so no report is older than the message before it. The driver reads all
//! available messages at once, so a message that was not available then was written later. Only the driver itself can
//! be late: all messages that it reads together arrive at the same time.

use crate::history::LeaseFraction;

/// Two messages that arrive at least this part of a lease apart were read separately. The driver records its own delay
/// if it is longer than [`RECORDED_HARNESS_STALL`](crate::history::RECORDED_HARNESS_STALL), so this is on the safe
/// side.
const SEPARATE_DELIVERIES: LeaseFraction = LeaseFraction::one_in(10);

/// The times that bound the age of a worker's next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LastAnswer {
    /// The earliest time at which the next message may have been written.
    since_ns: u64,
    /// When the first message of the latest delivery arrived.
    arrived_ns: u64,
    late_ns: u64,
}

impl LastAnswer {
    /// Creates the state after a request for a lease of `ttl_ns` was sent. All answers are written after that time.
    pub(super) fn after_request(sent_ns: u64, ttl_ns: u64) -> Self {
        LastAnswer {
            since_ns: sent_ns,
            arrived_ns: sent_ns,
            late_ns: SEPARATE_DELIVERIES.part_of(ttl_ns),
        }
    }

    /// Records the arrival of a message. Returns the earliest time at which it may have been written.
    pub(super) fn record_arrival(&mut self, at_ns: u64) -> u64 {
        if self.arrived_ns <= at_ns.saturating_sub(self.late_ns) {
            self.since_ns = self.since_ns.max(self.arrived_ns);
            self.arrived_ns = at_ns;
        }
        self.since_ns
    }

    /// Records that, according to its contents, the message was not written before this time.
    pub(super) fn record_earliest_writing(&mut self, not_before_ns: u64) {
        self.since_ns = self.since_ns.max(not_before_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_is_no_older_than_the_answer_before_it() {
        let mut last = LastAnswer::after_request(0, 1000);
        assert_eq!(last.record_arrival(200), 0);
        assert_eq!(last.record_arrival(500), 200);
        assert_eq!(last.record_arrival(1000), 500);
    }

    /// Messages that arrive together may have been written at any time since the previous delivery.
    #[test]
    fn messages_that_arrive_together_do_not_bound_each_other() {
        let mut last = LastAnswer::after_request(0, 1000);
        assert_eq!(last.record_arrival(500), 0);
        assert_eq!(last.record_arrival(599), 0);
        assert_eq!(last.record_arrival(600), 500);
        assert_eq!(last.record_arrival(650), 500);
        assert_eq!(last.record_arrival(700), 600);
    }

    #[test]
    fn message_with_its_own_time_bounds_the_next_one() {
        let mut last = LastAnswer::after_request(0, 1000);
        assert_eq!(last.record_arrival(820), 0);
        last.record_earliest_writing(800);
        assert_eq!(last.record_arrival(830), 800);
    }
}

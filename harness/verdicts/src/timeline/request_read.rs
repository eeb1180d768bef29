//! When a worker read a request, which is where its own figures begin.
//!
//! A worker that reports `elapsed_ms` counts from the reading of the request. Usually that is when the request
//! was sent. A worker that stood still meanwhile has read it later, and whatever it says of its lease counts
//! from then on. Two things bound that:
//!
//! - the key history: nothing is reported before the first command that changed a key for the attempt, and that
//!   command was sent after the reading;
//! - without that, the driver's own clock, where a fault froze the worker while it was asked: it read the request
//!   after the thaw, and before its answer arrived. A thaw is told when it is over, so a worker that has said more
//!   than fits into the time since then had been thawed before.
//!
//! A figure that is longer than the driver has waited is void: nothing is known from it.

use super::nanoseconds::ms;

/// Reports count in whole milliseconds.
const UNIT_NS: u64 = 1_000_000;

/// So much longer than the driver waited a worker may say that it took: its clock need not run like the driver's.
const OTHER_CLOCK_NS: u64 = 10 * UNIT_NS;

/// Between which times a request was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestRead {
    earliest_ns: u64,
    /// `u64::MAX`: not known.
    latest_ns: u64,
    /// When the worker was told to have been thawed since the request was sent.
    thawed_ns: Option<u64>,
    /// Between which times a command of the attempt first changed a key.
    first_write_ns: Option<(u64, u64)>,
}

impl RequestRead {
    /// A request was sent, and is read at once.
    pub(super) fn at_once(sent_ns: u64) -> Self {
        RequestRead {
            earliest_ns: sent_ns,
            latest_ns: sent_ns,
            thawed_ns: None,
            first_write_ns: None,
        }
    }

    /// The worker stands still: nobody knows when it will read the request.
    pub(super) fn frozen(&mut self) {
        self.latest_ns = u64::MAX;
    }

    /// The worker goes on, and has read nothing before.
    pub(super) fn thawed(&mut self, at_ns: u64) {
        if self.latest_ns == u64::MAX && self.first_write_ns.is_none() {
            self.thawed_ns = Some(at_ns);
        }
    }

    /// A command of the attempt changed a key between these times, before the answer. True for the first one.
    pub(super) fn wrote(&mut self, written_ns: (u64, u64)) -> bool {
        let is_first = self.first_write_ns.is_none();
        self.first_write_ns.get_or_insert(written_ns);
        is_first
    }

    /// The answer says that it was written so long after the reading: what the key history shows of that.
    pub(super) fn answered(&mut self, elapsed_ms: u64) {
        let Some((not_before_ns, written_ns)) = self.first_write_ns else {
            return;
        };
        self.thawed_ns = None;
        let shown_ns = not_before_ns.saturating_sub(ms(elapsed_ms).saturating_add(UNIT_NS));
        if shown_ns > self.earliest_ns || self.latest_ns == u64::MAX {
            self.earliest_ns = self.earliest_ns.max(shown_ns);
            self.latest_ns = written_ns.max(self.earliest_ns);
        }
    }

    /// Between which times a report was written that says so, and arrived then.
    pub(super) fn reported(&self, elapsed_ms: u64, arrived_ns: u64) -> (u64, u64) {
        let elapsed_ns = ms(elapsed_ms);
        let thawed_ns = self.thawed_ns.map(|at_ns| at_ns.saturating_add(elapsed_ns));
        let thawed_ns = thawed_ns.filter(|at_ns| *at_ns <= arrived_ns);
        let shown_ns = thawed_ns.unwrap_or(self.earliest_ns.saturating_add(elapsed_ns));
        let wrote_ns = self.first_write_ns.unwrap_or_default().0;
        let earliest_ns = shown_ns.max(wrote_ns).min(arrived_ns);
        let most_ns = elapsed_ns.saturating_add(UNIT_NS);
        let latest_ns = match self.latest_ns == self.earliest_ns {
            true => earliest_ns,
            false => self.latest_ns.saturating_add(most_ns),
        };
        (earliest_ns, latest_ns.clamp(earliest_ns, arrived_ns))
    }
}

/// True if a worker cannot have taken so long: the driver has not waited that long. `ttl_ns`: the lease asked for.
pub(super) fn is_void(elapsed_ms: u64, waited_ns: u64, ttl_ns: u64) -> bool {
    ms(elapsed_ms) > waited_ns.saturating_add(OTHER_CLOCK_NS + ttl_ns / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_of_a_running_worker_was_read_when_it_was_sent() {
        let mut read = RequestRead::at_once(ms(10));
        read.wrote((ms(12), ms(12)));
        read.answered(3);
        assert_eq!(read.reported(3, ms(14)), (ms(13), ms(13)));
    }

    #[test]
    fn first_write_shows_that_a_request_was_read_late() {
        let mut read = RequestRead::at_once(0);
        read.wrote((ms(801), ms(801)));
        read.answered(2);
        // Written no sooner than its value, and read no later.
        assert_eq!(read.reported(2, ms(900)), (ms(801), ms(804)));
        assert_eq!(read.reported(502, ms(1500)), (ms(1300), ms(1304)));
    }

    #[test]
    fn without_a_write_the_thaw_and_the_arrival_bound_the_report() {
        let mut read = RequestRead::at_once(0);
        read.frozen();
        read.thawed(ms(800));
        read.answered(2);
        assert_eq!(read.reported(2, ms(900)), (ms(802), ms(900)));
    }

    #[test]
    fn thaw_that_was_told_late_shows_nothing() {
        let mut read = RequestRead::at_once(0);
        read.frozen();
        read.thawed(ms(40));
        read.answered(35);
        assert_eq!(read.reported(35, ms(37)), (ms(35), ms(37)));
        // Where a write shows when it was read, the thaw says nothing.
        read.wrote((ms(34), ms(34)));
        read.answered(35);
        assert_eq!(read.reported(35, ms(37)).0, ms(35));
    }

    #[test]
    fn figure_is_void_where_the_driver_has_not_waited_so_long() {
        assert!(!is_void(12, ms(2), ms(1000)));
        assert!(is_void(60_000, ms(2), ms(1000)));
        assert!(!is_void(u64::MAX, u64::MAX, ms(1000)));
    }
}

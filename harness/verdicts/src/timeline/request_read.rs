//! When a worker read a request, which is where its reported times begin.
//!
//! A worker that reports `elapsed_ms` counts from the reading of the request. Usually it reads the request when the
//! driver sends it. A worker that was frozen or stalled reads it later, and its report counts from then on. Two things
//! bound the time of reading:
//!
//! - The key history: the worker reports nothing before the first command that changed a key for the attempt, and it
//!   sent that command after it had read the request.
//! - Without a key history, the driver's own clock, if a fault froze the worker around the request: the worker read the
//!   request after it was resumed, and before its answer arrived. The resumption is recorded only when it is complete,
//!   so a worker that reports more time than has passed since then had been resumed earlier.
//!
//! A reported time that is longer than the driver waited is void: it proves nothing.

use super::nanoseconds::ms;

/// Reports are in whole milliseconds.
const UNIT_NS: u64 = 1_000_000;

/// Maximum excess of a reported time over the driver's wait, because the worker's clock can differ.
const CLOCK_TOLERANCE_NS: u64 = 10 * UNIT_NS;

/// The earliest and latest time at which a request was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestRead {
    earliest_ns: u64,
    /// `u64::MAX` if unknown.
    latest_ns: u64,
    /// When the worker's resumption was recorded, if it was frozen around the request.
    thawed_ns: Option<u64>,
    /// The earliest and latest time of the attempt's first key change.
    first_write_ns: Option<(u64, u64)>,
}

impl RequestRead {
    /// Creates the state of a request that is read when it is sent.
    pub(super) fn at_once(sent_ns: u64) -> Self {
        RequestRead {
            earliest_ns: sent_ns,
            latest_ns: sent_ns,
            thawed_ns: None,
            first_write_ns: None,
        }
    }

    /// Records that the worker is frozen, so that the time of reading is unknown.
    pub(super) fn record_freeze(&mut self) {
        self.latest_ns = u64::MAX;
    }

    /// Records that the worker was resumed; it read nothing while it was frozen.
    pub(super) fn record_thaw(&mut self, at_ns: u64) {
        if self.latest_ns == u64::MAX && self.first_write_ns.is_none() {
            self.thawed_ns = Some(at_ns);
        }
    }

    /// Records a key change of the attempt before its answer. Returns whether it is the first one.
    pub(super) fn record_write(&mut self, written_ns: (u64, u64)) -> bool {
        let is_first = self.first_write_ns.is_none();
        self.first_write_ns.get_or_insert(written_ns);
        is_first
    }

    /// Narrows the time of reading with the key history. The answer was written `elapsed_ms` after the reading.
    pub(super) fn record_answer(&mut self, elapsed_ms: u64) {
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

    /// Returns the earliest and latest time at which a report was written that contains `elapsed_ms` and arrived at
    /// `arrived_ns`.
    pub(super) fn report_window(&self, elapsed_ms: u64, arrived_ns: u64) -> (u64, u64) {
        let elapsed_ns = ms(elapsed_ms);
        let after_thaw_ns = self
            .thawed_ns
            .map(|at_ns| at_ns.saturating_add(elapsed_ns))
            .filter(|at_ns| *at_ns <= arrived_ns);
        let shown_ns = after_thaw_ns.unwrap_or(self.earliest_ns.saturating_add(elapsed_ns));
        let wrote_ns = self.first_write_ns.unwrap_or_default().0;
        let earliest_ns = shown_ns.max(wrote_ns).min(arrived_ns);
        let latest_ns = if self.latest_ns == self.earliest_ns {
            earliest_ns
        } else {
            self.latest_ns
                .saturating_add(elapsed_ns.saturating_add(UNIT_NS))
        };
        (earliest_ns, latest_ns.clamp(earliest_ns, arrived_ns))
    }
}

/// Returns whether a reported time is impossible because the driver waited for a shorter time. `ttl_ns` is the
/// requested lease time.
pub(super) fn is_void(elapsed_ms: u64, waited_ns: u64, ttl_ns: u64) -> bool {
    ms(elapsed_ms) > waited_ns.saturating_add(CLOCK_TOLERANCE_NS + ttl_ns / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_of_a_running_worker_is_read_when_it_is_sent() {
        let mut read = RequestRead::at_once(ms(10));
        read.record_write((ms(12), ms(12)));
        read.record_answer(3);
        assert_eq!(read.report_window(3, ms(14)), (ms(13), ms(13)));
    }

    #[test]
    fn first_write_bounds_a_late_reading() {
        let mut read = RequestRead::at_once(0);
        read.record_write((ms(801), ms(801)));
        read.record_answer(2);
        // The report was written no earlier than its value, and read no later.
        assert_eq!(read.report_window(2, ms(900)), (ms(801), ms(804)));
        assert_eq!(read.report_window(502, ms(1500)), (ms(1300), ms(1304)));
    }

    #[test]
    fn thaw_and_arrival_bound_a_report_without_a_write() {
        let mut read = RequestRead::at_once(0);
        read.record_freeze();
        read.record_thaw(ms(800));
        read.record_answer(2);
        assert_eq!(read.report_window(2, ms(900)), (ms(802), ms(900)));
    }

    #[test]
    fn thaw_that_was_recorded_late_is_ignored() {
        let mut read = RequestRead::at_once(0);
        read.record_freeze();
        read.record_thaw(ms(40));
        read.record_answer(35);
        assert_eq!(read.report_window(35, ms(37)), (ms(35), ms(37)));
        // Once a write shows when the request was read, the resumption is ignored.
        read.record_write((ms(34), ms(34)));
        read.record_answer(35);
        assert_eq!(read.report_window(35, ms(37)).0, ms(35));
    }

    #[test]
    fn elapsed_time_longer_than_the_wait_is_void() {
        assert!(!is_void(12, ms(2), ms(1000)));
        assert!(is_void(60_000, ms(2), ms(1000)));
        assert!(!is_void(u64::MAX, u64::MAX, ms(1000)));
    }
}

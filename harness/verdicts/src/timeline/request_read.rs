//! The time at which a worker read a request. The worker's reported times count from it.
//!
//! A worker that reports `elapsed_ms` counts from the reading of the request. Usually it reads the request when the
//! driver sends it. A worker that was frozen or stalled reads it later, and its reported time then counts from that
//! later time. Two sources bound the time of reading:
//!
//! - The key history: the worker sent the first command that changed a key for the attempt after it had read the
//!   request. The worker reported the grant after the write on which the grant rests.
//! - The driver's own clock, if a fault froze the worker around the request: the worker read the request after it was
//!   resumed for the first time, and before its answer arrived. Later freezes do not matter. The resumption is recorded
//!   only when it is complete. So if a worker reports more time than has passed since the record, or wrote a key before
//!   the record, it had been resumed earlier. If the harness was stalled when it recorded the resumption, the worker
//!   may have been resumed at any time of the stall.
//!
//! A reported time that is longer than the driver waited is void: it proves nothing.

use crate::history::RECORDED_HARNESS_STALL;

use super::nanoseconds::ns_from_ms;

/// Resolution of reported times, which are in whole milliseconds.
const UNIT_NS: u64 = 1_000_000;

/// Maximum excess of a reported time over the driver's wait, because the worker's clock can differ.
const CLOCK_TOLERANCE_NS: u64 = 10 * UNIT_NS;

/// The earliest and latest time at which a request was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestRead {
    earliest_ns: u64,
    /// `u64::MAX` if unknown.
    latest_ns: u64,
    /// When the worker's first resumption was recorded, if it was frozen around the request.
    thawed_ns: Option<u64>,
    /// The earliest and latest time of the attempt's first key change.
    first_write_ns: Option<(u64, u64)>,
    /// The earliest time of the write that the grant rests on; 0 if it is unknown.
    granted_write_ns: u64,
}

impl RequestRead {
    /// Creates the state of a request that is read when it is sent.
    pub(super) fn at_once(sent_ns: u64) -> Self {
        RequestRead {
            earliest_ns: sent_ns,
            latest_ns: sent_ns,
            thawed_ns: None,
            first_write_ns: None,
            granted_write_ns: 0,
        }
    }

    /// Records that the worker is frozen, so that the time of reading is unknown.
    pub(super) fn record_freeze(&mut self) {
        self.latest_ns = u64::MAX;
    }

    /// Records that the worker was resumed; it read nothing while it was frozen. `stall_ns` is the last stall of the
    /// harness: if the resumption was recorded during it, the worker may have been resumed when it began.
    pub(super) fn record_thaw(&mut self, at_ns: u64, stall_ns: (u64, u64)) {
        if self.latest_ns == u64::MAX && self.first_write_ns.is_none() {
            self.thawed_ns.get_or_insert(at_ns);
            self.record_stall(stall_ns);
        }
    }

    /// Records a stall of the harness.
    pub(super) fn record_stall(&mut self, (from_ns, until_ns): (u64, u64)) {
        self.thawed_ns = self.thawed_ns.map(|at_ns| {
            if (from_ns..=until_ns).contains(&at_ns) {
                from_ns
            } else {
                at_ns
            }
        });
    }

    /// Records the earliest time of the write that the grant rests on.
    pub(super) fn record_granted_write(&mut self, not_before_ns: u64) {
        self.granted_write_ns = not_before_ns;
    }

    /// Records a key change of the attempt before its answer. Returns `true` if it is the first one.
    pub(super) fn record_write(&mut self, written_ns: (u64, u64)) -> bool {
        let is_first = self.first_write_ns.is_none();
        self.first_write_ns.get_or_insert(written_ns);
        is_first
    }

    /// Narrows the time of reading with the key history. The answer was written `elapsed_ms` after the reading.
    pub(super) fn record_answer(&mut self, elapsed_ms: u64, arrived_ns: u64, ttl_ns: u64) {
        let Some((not_before_ns, written_ns)) = self.first_write_ns else {
            return;
        };
        let by_answer_ns =
            not_before_ns.saturating_sub(ns_from_ms(elapsed_ms).saturating_add(UNIT_NS));
        // A worker that wrote a key before the record, or reports more time than has passed since then, had been
        // resumed earlier.
        let tolerance_ns = clock_tolerance_ns(ttl_ns);
        let is_recorded_in_time = |at_ns: &u64| {
            let read_ns = at_ns.saturating_sub(tolerance_ns);
            *at_ns <= not_before_ns && read_ns.saturating_add(ns_from_ms(elapsed_ms)) <= arrived_ns
        };
        let thawed_ns = self.thawed_ns.take().filter(is_recorded_in_time);
        let by_thaw_ns = thawed_ns.map_or(0, |at_ns| at_ns.saturating_sub(tolerance_ns));
        let shown_ns = by_answer_ns.max(by_thaw_ns);
        if shown_ns > self.earliest_ns || self.latest_ns == u64::MAX {
            self.earliest_ns = self.earliest_ns.max(shown_ns);
            self.latest_ns = written_ns.max(self.earliest_ns);
        }
    }

    /// Returns the earliest and the latest time at which the worker may have written a report that contains
    /// `elapsed_ms` and arrived at `arrived_ns`.
    pub(super) fn report_window(&self, elapsed_ms: u64, arrived_ns: u64) -> (u64, u64) {
        let elapsed_ns = ns_from_ms(elapsed_ms);
        let after_thaw_ns = self
            .thawed_ns
            .map(|at_ns| at_ns.saturating_add(elapsed_ns))
            .filter(|at_ns| *at_ns <= arrived_ns);
        let shown_ns = after_thaw_ns.unwrap_or(self.earliest_ns.saturating_add(elapsed_ns));
        let first_write_ns = self.first_write_ns.unwrap_or_default().0;
        let wrote_ns = first_write_ns.max(self.granted_write_ns);
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

/// Returns `true` if a reported time is impossible because the driver waited for a shorter time. `ttl_ns` is the
/// requested lease time.
pub(super) fn is_void(elapsed_ms: u64, waited_ns: u64, ttl_ns: u64) -> bool {
    ns_from_ms(elapsed_ms) > waited_ns.saturating_add(clock_tolerance_ns(ttl_ns))
}

/// Returns how much times on the driver's clock and on a worker's clock may differ without a recorded stall, in
/// nanoseconds.
fn clock_tolerance_ns(ttl_ns: u64) -> u64 {
    CLOCK_TOLERANCE_NS + RECORDED_HARNESS_STALL.part_of(ttl_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL_NS: u64 = 1_000_000_000;

    #[test]
    fn request_of_a_running_worker_is_read_when_it_is_sent() {
        let mut read = RequestRead::at_once(ns_from_ms(10));
        read.record_write((ns_from_ms(12), ns_from_ms(12)));
        read.record_answer(3, ns_from_ms(14), TTL_NS);
        assert_eq!(
            read.report_window(3, ns_from_ms(14)),
            (ns_from_ms(13), ns_from_ms(13))
        );
    }

    #[test]
    fn first_write_bounds_a_late_reading() {
        let mut read = RequestRead::at_once(0);
        read.record_write((ns_from_ms(801), ns_from_ms(801)));
        read.record_answer(2, ns_from_ms(900), TTL_NS);
        // The report was written after its value, and the request was read before it.
        assert_eq!(
            read.report_window(2, ns_from_ms(900)),
            (ns_from_ms(801), ns_from_ms(804))
        );
        assert_eq!(
            read.report_window(502, ns_from_ms(1500)),
            (ns_from_ms(1300), ns_from_ms(1304))
        );
    }

    #[test]
    fn thaw_and_arrival_bound_a_report_without_a_write() {
        let mut read = RequestRead::at_once(0);
        read.record_freeze();
        read.record_thaw(ns_from_ms(800), (0, 0));
        read.record_answer(2, ns_from_ms(900), TTL_NS);
        assert_eq!(
            read.report_window(2, ns_from_ms(900)),
            (ns_from_ms(802), ns_from_ms(900))
        );
    }

    #[test]
    fn thaw_that_was_recorded_late_is_ignored() {
        let mut read = RequestRead::at_once(0);
        read.record_freeze();
        read.record_thaw(ns_from_ms(40), (0, 0));
        read.record_answer(35, ns_from_ms(37), TTL_NS);
        assert_eq!(
            read.report_window(35, ns_from_ms(37)),
            (ns_from_ms(35), ns_from_ms(37))
        );
        // Once a write shows when the request was read, the resumption is ignored.
        read.record_write((ns_from_ms(34), ns_from_ms(34)));
        read.record_answer(35, ns_from_ms(37), TTL_NS);
        assert_eq!(read.report_window(35, ns_from_ms(37)).0, ns_from_ms(35));
    }

    /// The worker was frozen twice: before it read the request, and after it had sent its command.
    #[test]
    fn first_thaw_bounds_the_reading_despite_a_later_freeze() {
        let mut read = RequestRead::at_once(0);
        read.record_freeze();
        read.record_thaw(ns_from_ms(700), (0, 0));
        read.record_write((ns_from_ms(701), ns_from_ms(701)));
        read.record_thaw(ns_from_ms(2300), (0, 0));
        read.record_answer(1600, ns_from_ms(2300), TTL_NS);
        assert_eq!(
            read.report_window(1600, ns_from_ms(2300)),
            (ns_from_ms(2280), ns_from_ms(2300))
        );
    }

    #[test]
    fn thaw_during_a_stall_of_the_harness_may_have_been_earlier() {
        for stall_first in [true, false] {
            let mut read = RequestRead::at_once(0);
            read.record_freeze();
            let stall_ns = (ns_from_ms(600), ns_from_ms(705));
            read.record_thaw(ns_from_ms(700), if stall_first { stall_ns } else { (0, 0) });
            read.record_stall(stall_ns);
            read.record_write((ns_from_ms(710), ns_from_ms(710)));
            read.record_answer(300, ns_from_ms(2300), TTL_NS);
            assert_eq!(read.report_window(300, ns_from_ms(2300)).0, ns_from_ms(880));
        }
    }

    /// The container had run for 170 ms when the end of its pause was recorded: the lock had taken 1,066 ms by
    /// 3,975 ms.
    #[test]
    fn thaw_recorded_after_the_reading_is_ignored_despite_a_write() {
        let mut read = RequestRead::at_once(ns_from_ms(2844));
        read.record_freeze();
        read.record_thaw(ns_from_ms(3016), (0, 0));
        read.record_write((ns_from_ms(3812), ns_from_ms(3812)));
        read.record_answer(1066, ns_from_ms(3975), TTL_NS);
        assert_eq!(
            read.report_window(1066, ns_from_ms(3975)),
            (ns_from_ms(3910), ns_from_ms(3975))
        );
    }

    #[test]
    fn report_is_not_older_than_the_write_that_it_rests_on() {
        let mut read = RequestRead::at_once(0);
        read.record_freeze();
        read.record_thaw(ns_from_ms(400), (0, 0));
        read.record_write((ns_from_ms(424), ns_from_ms(424)));
        read.record_granted_write(ns_from_ms(837));
        read.record_answer(438, ns_from_ms(838), ns_from_ms(200));
        assert_eq!(
            read.report_window(438, ns_from_ms(838)),
            (ns_from_ms(837), ns_from_ms(838))
        );
    }

    #[test]
    fn elapsed_time_longer_than_the_wait_is_void() {
        assert!(!is_void(12, ns_from_ms(2), ns_from_ms(1000)));
        assert!(is_void(60_000, ns_from_ms(2), ns_from_ms(1000)));
        assert!(!is_void(u64::MAX, u64::MAX, ns_from_ms(1000)));
    }
}

//! The end of a lease after an extension.

use super::attempt::Attempt;
use super::lease_deadline::LeaseDeadline;
use super::nanoseconds::ns_from_ms;
use super::request_read::is_void;

impl Attempt {
    /// Returns the deadline after a granted extension, or `None` if no extension was requested.
    pub(super) fn extended_deadline(
        &mut self,
        arrived_ns: u64,
        valid_ms: Option<u64>,
        elapsed_ms: Option<u64>,
    ) -> Option<LeaseDeadline> {
        let requested_at_ns = self.extend_ns.take()?;
        let not_before_ns = self
            .last_answer
            .record_arrival(arrived_ns)
            .max(requested_at_ns);
        let Some(valid_ms) = valid_ms else {
            return Some(if self.lease_observed && self.extend_written_ns.1 > 0 {
                LeaseDeadline::from_write(self.extend_written_ns, self.ttl_ns)
            } else {
                LeaseDeadline::from_ttl(requested_at_ns, arrived_ns, self.ttl_ns)
            });
        };
        let waited_ns = arrived_ns.saturating_sub(requested_at_ns);
        let report_window_ns =
            match elapsed_ms.filter(|elapsed_ms| !is_void(*elapsed_ms, waited_ns, self.ttl_ns)) {
                Some(elapsed_ms) => {
                    let report_window_ns = requested_at_ns
                        .saturating_add(ns_from_ms(elapsed_ms))
                        .min(arrived_ns);
                    self.last_answer.record_earliest_writing(report_window_ns);
                    (report_window_ns, report_window_ns)
                }
                None => (not_before_ns, arrived_ns),
            };
        // The answer contains its duration, but not when the worker read the request. The writes on the servers bound
        // the time of the report from below, and the arrival of the answer bounds it from above.
        let deadline = LeaseDeadline::reported(report_window_ns, valid_ms);
        let written_ns = self
            .extend_written_ns
            .0
            .max(requested_at_ns)
            .min(arrived_ns);
        let shown_ns = written_ns.saturating_add(ns_from_ms(valid_ms));
        let earliest_ns = deadline.earliest_ns.max(shown_ns);
        Some(LeaseDeadline {
            earliest_ns,
            latest_ns: deadline.latest_ns.max(earliest_ns),
            report_window_ns: (deadline.report_window_ns.0.max(written_ns), arrived_ns),
        })
    }

    /// Returns the deadline after a background command of a holder set a new expiry. The command may have concerned the
    /// lock's own key, so the lease may run longer. Returns `None` if the deadline does not change.
    pub(super) fn possibly_renewed_deadline(&self, at_ns: u64) -> Option<LeaseDeadline> {
        let deadline = self.deadline();
        let latest_ns = at_ns.saturating_add(self.ttl_ns);
        let is_longer = self.lease_observed && latest_ns > deadline.latest_ns;
        is_longer.then_some(LeaseDeadline {
            latest_ns,
            report_window_ns: (at_ns, at_ns),
            ..deadline
        })
    }
}

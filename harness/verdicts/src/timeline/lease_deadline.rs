//! When a lease ends. This is the only place where that is computed.
//!
//! A lock that reports how long its client may believe that it holds (`valid_ms`) did so
//! `elapsed_ms` after it had read the request. So the lease runs until `read + elapsed + valid`. When the
//! request was read is bounded in `request_read.rs`: usually it is when it was sent. (`granted + valid`
//! would be too late where the worker was frozen between computing the time and writing the line.) No
//! report is younger than its arrival: a lock that claims so has counted `elapsed_ms` wrongly, and a figure
//! that is far too long counts as none.
//!
//! What a lock leaves out is bounded by the driver's clock. The end is then known only as a
//! span, from [`LeaseDeadline::earliest_ns`] to [`LeaseDeadline::latest_ns`]:
//!
//! - a report without `elapsed_ms` is no older than the answer before it (see `last_answer.rs`) and
//!   no younger than its arrival;
//! - a grant without `valid_ms` is worth the TTL. With key history it counts from when its key was written, if that
//!   was on one node only; if a command of the holder sets an expiry after that, it may run for longer. Else it
//!   counts from a time between the request and the arrival: the server cannot have set the key before it was
//!   asked.
//!
//! Where a request was read late, and its answer arrives late too, a report with `elapsed_ms` has two bounds as well. With
//! key history it counts for no longer than the value lives that was written for it. A lock whose client may rely on
//! more has told something untrue, which is the matter of `claims`.
//!
//! A renewal in the background counts `elapsed_ms` from the request to acquire, and an extension that the
//! holder asked for from the request to extend. The worker may have read that request late, so such an
//! extension was made no later than it arrives, and with key history no earlier than its last command. A refused extension ends the lease like `lost`.
//!
//! The holder's last word counts: an extension may end earlier than the lease before it. One that was
//! made before the lease had expired continues it, even if it arrives later; any other one starts a
//! new lease when it arrives. `lost` ends the lease when it arrives.
//!
//! What happens before `earliest_ns` happened while the lease was running, and what happens after
//! `latest_ns` did not. What happens in between decides nothing.

use super::nanoseconds::ms;

/// The end of a lease, nanoseconds since the run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeaseDeadline {
    /// The client may believe at least until here.
    pub(super) earliest_ns: u64,
    /// And no longer than until here.
    pub(super) latest_ns: u64,
    /// Between which times the lock said so.
    pub(super) report_window_ns: (u64, u64),
}

/// Servers count expiries in whole milliseconds, by a clock that they read once for each turn.
const SERVER_SLACK_NS: u64 = 2_000_000;

impl LeaseDeadline {
    /// What a lock reported, between these times.
    pub(super) fn reported(report_window_ns: (u64, u64), valid_ms: u64) -> Self {
        let valid_ns = ms(valid_ms);
        LeaseDeadline {
            earliest_ns: report_window_ns.0.saturating_add(valid_ns),
            latest_ns: report_window_ns.1.saturating_add(valid_ns),
            report_window_ns,
        }
    }

    /// The same where the value has run out then: until it does, what is not known may go on, and no longer.
    pub(super) fn no_longer_than(self, runs_out_ns: u64) -> Self {
        LeaseDeadline {
            latest_ns: self.latest_ns.min(runs_out_ns.max(self.earliest_ns)),
            ..self
        }
    }

    /// Of a grant without a report, whose key was written on its only server between these times.
    pub(super) fn of_write(written_ns: (u64, u64), ttl_ns: u64) -> Self {
        let ended_at_ns = |written_ns: u64| written_ns.saturating_add(ttl_ns);
        LeaseDeadline {
            earliest_ns: ended_at_ns(written_ns.0).saturating_sub(SERVER_SLACK_NS),
            latest_ns: ended_at_ns(written_ns.1),
            report_window_ns: written_ns,
        }
    }

    /// Of a grant without a report, that arrived at `arrived_ns`.
    pub(super) fn of_ttl(acquire_ns: u64, arrived_ns: u64, ttl_ns: u64) -> Self {
        LeaseDeadline {
            earliest_ns: acquire_ns.saturating_add(ttl_ns),
            latest_ns: arrived_ns.saturating_add(ttl_ns),
            report_window_ns: (acquire_ns, arrived_ns),
        }
    }

    /// After the lock said that the lease is lost.
    pub(super) fn lost(self, at_ns: u64) -> Self {
        LeaseDeadline {
            earliest_ns: self.earliest_ns.min(at_ns),
            latest_ns: self.latest_ns.min(at_ns),
            report_window_ns: (at_ns, at_ns),
        }
    }
}

//! The end of a lease. `extended_deadline.rs` applies the same rules to extensions; no other module computes it.
//!
//! A lock that reports the remaining validity (`valid_ms`) usually also reports how much time has passed since it read
//! the request (`elapsed_ms`). The lease then runs until `read + elapsed + valid`. `request_read.rs` bounds the time of
//! reading, which usually is the time of sending. (`granted + valid` would be too late if the worker was frozen between
//! computing the validity and writing its report.) A report cannot have been written after its arrival. A lock that
//! claims otherwise has measured `elapsed_ms` wrongly, and a value that is far too large is ignored.
//!
//! If a lock omits one of these fields, the driver's clock bounds it. The end of the lease is then a span, from
//! [`LeaseDeadline::earliest_ns`] to [`LeaseDeadline::latest_ns`]:
//!
//! - A report without `elapsed_ms` was written after the answer before it (see `last_answer.rs`), and before its
//!   arrival.
//! - A grant without `valid_ms` lasts for the TTL. If the key history shows that the lock's key was written on a single
//!   node, the TTL counts from that write, and the lease may run longer if a later command of the holder sets an
//!   expiry. Otherwise the TTL counts from some time between request and arrival, because the server cannot have set
//!   the key before the request.
//!
//! A report with `elapsed_ms` has two bounds as well if its request was read late and its answer arrives late. With a
//! key history, the lease then ends no later than the value that was written for it. A lock that lets its client rely
//! on a longer lease has reported something untrue, which `claims` judges.
//!
//! For a background renewal `elapsed_ms` counts from the request to acquire, and for a requested extension from the
//! request to extend. The worker may have read that request late. So all that is known is that the extension was made
//! before its answer arrived and, with a key history, not before its last command. A refused extension ends the lease
//! like `lost`.
//!
//! The latest report counts: an extension may end earlier than the lease before it. An extension that was made before
//! the lease had expired continues it, even if its answer arrives later; any other extension starts a new lease when
//! it arrives. `lost` ends the lease when it arrives.
//!
//! At any time before `earliest_ns` the lease was running, and after `latest_ns` it was not. An event between the two
//! decides nothing.

use super::nanoseconds::{EXPIRY_SLACK_NS, ns_from_ms};

/// The end of a lease, in nanoseconds since the run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeaseDeadline {
    /// The client may rely on the lock at least until this time.
    pub(super) earliest_ns: u64,
    /// The client must not rely on the lock after this time.
    pub(super) latest_ns: u64,
    /// The earliest and latest time at which the lock may have written its report.
    pub(super) report_window_ns: (u64, u64),
}

impl LeaseDeadline {
    /// Returns the deadline of a report that was written in this window.
    pub(super) fn reported(report_window_ns: (u64, u64), valid_ms: u64) -> Self {
        let valid_ns = ns_from_ms(valid_ms);
        LeaseDeadline {
            earliest_ns: report_window_ns.0.saturating_add(valid_ns),
            latest_ns: report_window_ns.1.saturating_add(valid_ns),
            report_window_ns,
        }
    }

    /// Returns the deadline of a reported extension of a lease that certainly ran until `known_ns`. An extension does
    /// not shorten a lease, unless even its latest deadline is earlier.
    pub(super) fn extending(self, known_ns: u64) -> Self {
        LeaseDeadline {
            earliest_ns: self.earliest_ns.max(known_ns.min(self.latest_ns)),
            ..self
        }
    }

    /// Limits the uncertain part of the deadline to the time at which the value expires.
    pub(super) fn no_longer_than(self, runs_out_ns: u64) -> Self {
        LeaseDeadline {
            latest_ns: self.latest_ns.min(runs_out_ns.max(self.earliest_ns)),
            ..self
        }
    }

    /// Returns the deadline of a grant without a report whose key was written on its only server in this window.
    pub(super) fn from_write(written_ns: (u64, u64), ttl_ns: u64) -> Self {
        let lease_end_ns = |written_ns: u64| written_ns.saturating_add(ttl_ns);
        LeaseDeadline {
            earliest_ns: lease_end_ns(written_ns.0).saturating_sub(EXPIRY_SLACK_NS),
            latest_ns: lease_end_ns(written_ns.1),
            report_window_ns: written_ns,
        }
    }

    /// Returns the deadline of a grant without a report that arrived at `arrived_ns`.
    pub(super) fn from_ttl(acquire_ns: u64, arrived_ns: u64, ttl_ns: u64) -> Self {
        LeaseDeadline {
            earliest_ns: acquire_ns.saturating_add(ttl_ns),
            latest_ns: arrived_ns.saturating_add(ttl_ns),
            report_window_ns: (acquire_ns, arrived_ns),
        }
    }

    /// Returns the deadline after the lock reported at `at_ns` that the lease is lost.
    pub(super) fn lost(self, at_ns: u64) -> Self {
        LeaseDeadline {
            earliest_ns: self.earliest_ns.min(at_ns),
            latest_ns: self.latest_ns.min(at_ns),
            report_window_ns: (at_ns, at_ns),
        }
    }
}

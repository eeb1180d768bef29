//! When a lease ends. This is the only place where that is computed.
//!
//! A subject that reports how long its client may believe that it holds (`valid_ms`) did so
//! `elapsed_ms` after it had read the request, and it read the request after the driver had sent
//! it. So the lease runs at least until `acquire + elapsed + valid`, which is never later than
//! what the client believes. (`granted + valid` would be too late where the worker was frozen
//! between computing the time and writing the line.) A subject that reports nothing may believe
//! at least until `acquire + ttl`, because the server cannot have set the key before it was asked.
//!
//! An extension moves the deadline by the same sum, and only forwards. If the holder asked for it,
//! the sum begins when that request was sent, because its answer counts from when the subject read
//! it. `lost`, and a refused extension, move the deadline back to their arrival.
//!
//! Verdicts use [`LeaseDeadline::earliest_ns`] alone. Where the subject does not say for how much
//! of its wait the lease had been running, the client may believe longer, until
//! [`LeaseDeadline::latest_ns`]. Pictures show the time between the two as undecided.

use super::nanoseconds::ms;

/// The end of a lease, nanoseconds since the run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeaseDeadline {
    /// The client may believe at least until here.
    pub(super) earliest_ns: u64,
    /// And no longer than until here.
    pub(super) latest_ns: u64,
}

/// What a grant or an extension says about its lease.
#[derive(Debug, Clone, Copy)]
pub(super) struct Report {
    /// When it arrived at the driver.
    pub(super) arrived_ns: u64,
    /// How long the client may believe that it holds.
    pub(super) valid_ms: u64,
    /// How long after reading the request (to acquire, or to extend) the subject said so.
    pub(super) elapsed_ms: Option<u64>,
}

impl LeaseDeadline {
    /// What a subject reported about the lease that was asked for at `asked_ns`.
    pub(super) fn reported(asked_ns: u64, report: Report) -> Self {
        let valid_ns = ms(report.valid_ms);
        let elapsed_ns = ms(report.elapsed_ms.unwrap_or(0));
        let earliest_ns = asked_ns.saturating_add(elapsed_ns).saturating_add(valid_ns);
        let latest_ns = match report.elapsed_ms {
            // How long the request was on its way is unknown, but too short to be drawn.
            Some(_) => earliest_ns,
            None => report.arrived_ns.saturating_add(valid_ns),
        };
        LeaseDeadline {
            earliest_ns,
            latest_ns,
        }
    }

    /// Of a grant without a report, that arrived at `arrived_ns`.
    pub(super) fn of_ttl(acquire_ns: u64, arrived_ns: u64, ttl_ns: u64) -> Self {
        LeaseDeadline {
            earliest_ns: acquire_ns.saturating_add(ttl_ns),
            latest_ns: arrived_ns.saturating_add(ttl_ns),
        }
    }

    /// After an extension that reported `extended`.
    pub(super) fn extended_to(self, extended: LeaseDeadline) -> Self {
        LeaseDeadline {
            earliest_ns: self.earliest_ns.max(extended.earliest_ns),
            latest_ns: self.latest_ns.max(extended.latest_ns),
        }
    }

    /// After the subject said that the lease is lost.
    pub(super) fn lost(self, at_ns: u64) -> Self {
        LeaseDeadline {
            earliest_ns: self.earliest_ns.min(at_ns),
            latest_ns: self.latest_ns.min(at_ns),
        }
    }
}

//! The time until which a lease of a lock may be outstanding.
//!
//! While a client holds the lock, it may renew its lease. A client that a fault stops cannot: if there is a key
//! history, its lease is over one lease after it was stopped, or after the last command that renewed its value since.
//!
//! After a hold the lock is free
//!
//! - when its release has been answered, because the lock is judged by its own report. An answer that arrives after the
//!   end of the lease prolongs nothing;
//! - when the longest lease that its holder may have left has expired, if the holder was killed, or its release failed
//!   or is not answered. No command of that attempt sets or renews the key later than that, unless one is in flight. A
//!   fault that holds commands back lets them pass when it ends, and then all waiting times begin again
//!   (`Progress::restart`). A fault that delays each command does not let them begin again for the delayed
//!   commands, so the release of a worker that such a fault keeps from its nodes is awaited;
//! - when the same time has passed after an attempt without a definite answer, which may have taken the lock. If
//!   nothing kept that worker from its nodes, the lock itself caused the doubt. Then it counts only once, so that a
//!   lock with only ambiguous attempts is not excused forever.
//!
//! A refused attempt leaves nothing. At the end of the run all workers are ended. A client that still holds the lock at
//! that time counts as dead, and its value expires like the value of any other dead client.

use crate::check::finding::Starvation;
use crate::check::progress::reach::Reach;
use crate::history::Header;
use crate::timeline::{AcquireFailure, Attempt, HoldEnd, Step, ns_from_ms};

/// A client that currently holds the lock.
#[derive(Debug, Clone, Copy)]
struct Holder {
    worker: usize,
    op: u64,
    /// When the lock was granted, or when a command last renewed its value while it was stopped.
    renewed_ns: u64,
}

/// A release without an answer so far.
#[derive(Debug, Clone, Copy)]
struct Release {
    worker: usize,
    lock: u32,
    op: u64,
    clear_ns: u64,
}

/// An attempt without a definite answer.
#[derive(Debug, Clone, Copy)]
struct Doubt {
    worker: usize,
    at_ns: u64,
    /// When the lease that the attempt may have taken has expired.
    clear_ns: u64,
}

/// The leases of one lock that may be outstanding.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct Outstanding {
    holders: Vec<Holder>,
    /// Whether the key history would show a command that renews the lease of a stopped holder.
    shows_renewals: bool,
    /// The longest lease that a holder may have had.
    held_lease_ns: u64,
    /// Whether the lock was held when all workers were ended.
    cut_off: bool,
    releases: Vec<Release>,
    /// When all other leases have certainly expired.
    clear_ns: u64,
    /// When all leases have expired that workers may have taken while a fault kept them from their nodes.
    kept_away_clear_ns: u64,
    /// When the lock was last held.
    held_ns: u64,
    /// The last attempt without a definite answer since the last grant.
    doubt: Option<Doubt>,
    /// Whether the lock has been excused for a doubt that it caused itself.
    excused: bool,
    /// Minimum life of a key according to the written expiries: the lease may be rounded up.
    lease_ns: u64,
}

impl Outstanding {
    /// Handles a step of an attempt to get this lock.
    pub(in crate::check) fn step(
        &mut self,
        at_ns: u64,
        attempt: &Attempt,
        step: Step,
        reach: &Reach,
    ) {
        match step {
            Step::Requested | Step::Acted => {}
            Step::Denied(denial) => self.denied(at_ns, attempt, denial, reach),
            Step::LeaseMoved => {
                self.held_lease_ns = self.held_lease_ns.max(self.longest_ns(attempt))
            }
            Step::Begun => {
                self.held_lease_ns = self.held_lease_ns.max(self.longest_ns(attempt));
                self.holders.push(Holder {
                    worker: attempt.worker,
                    op: attempt.op,
                    renewed_ns: at_ns,
                });
                (self.doubt, self.excused) = (None, false);
            }
            Step::Ended(how) => {
                self.holders.retain(|holder| holder.op != attempt.op);
                self.held(at_ns);
                if how == HoldEnd::Released {
                    self.releases.push(Release {
                        worker: attempt.worker,
                        lock: attempt.lock,
                        op: attempt.op,
                        clear_ns: self.expired_ns(at_ns, attempt),
                    });
                }
            }
            Step::Answered { released, .. } => {
                self.held(self.free_ns(at_ns, attempt, reach));
                self.releases.retain(|release| release.op != attempt.op);
                if released.is_none() {
                    self.clear_ns = self.clear_ns.max(self.expired_ns(at_ns, attempt));
                }
            }
            Step::Gone => {
                self.releases.retain(|release| release.op != attempt.op);
                self.clear_ns = self.clear_ns.max(self.expired_ns(at_ns, attempt));
            }
        }
    }

    fn denied(&mut self, at_ns: u64, attempt: &Attempt, denial: AcquireFailure, reach: &Reach) {
        if denial.is_definite() {
            return;
        }
        let clear_ns = self.expired_ns(at_ns, attempt);
        self.doubt = Some(Doubt {
            worker: attempt.worker,
            at_ns,
            clear_ns,
        });
        if !reach.has_quorum(attempt.worker, attempt.lock) {
            self.kept_away_clear_ns = self.kept_away_clear_ns.max(clear_ns);
            return;
        }
        let own = reach.had_quorum_since(attempt.worker, attempt.lock, attempt.acquire_ns);
        if !own || !self.excused {
            self.clear_ns = self.clear_ns.max(clear_ns);
            self.excused |= own;
        }
    }

    /// Returns when a lock became free whose release is answered now: now, or at the end of its lease if that was
    /// earlier and commands of the releasing worker cannot be late.
    fn free_ns(&self, at_ns: u64, attempt: &Attempt, reach: &Reach) -> u64 {
        let mut releases = self.releases.iter();
        let release = releases.find(|release| release.op == attempt.op);
        let in_time = release.filter(|release| !reach.may_be_late(release.worker, release.lock));
        in_time.map_or(at_ns, |release| release.clear_ns.min(at_ns))
    }

    fn held(&mut self, at_ns: u64) {
        self.held_ns = self.held_ns.max(at_ns);
        self.clear_ns = self.clear_ns.max(at_ns);
    }

    /// Records that all workers have ended by `at_ns`, and that their last command was executed no later.
    pub(in crate::check) fn workers_ended(&mut self, at_ns: u64) {
        if !std::mem::take(&mut self.holders).is_empty() {
            self.cut_off = true;
            self.held(at_ns);
            self.still_working(at_ns);
        }
    }

    /// Records that a worker's command was executed after all workers were ended, so one of them may still be running.
    pub(in crate::check) fn still_working(&mut self, at_ns: u64) {
        if self.cut_off {
            let lease_ns = self.held_lease_ns.max(self.lease_ns);
            self.clear_ns = self.clear_ns.max(at_ns.saturating_add(lease_ns));
        }
    }

    /// Records that a command renewed the value with which the attempt `op` holds the lock.
    pub(in crate::check) fn renewed(&mut self, at_ns: u64, op: u64) {
        for holder in self.holders.iter_mut().filter(|holder| holder.op == op) {
            holder.renewed_ns = at_ns;
        }
    }

    /// Records that the lock rounds its leases up to `lease_ns`.
    pub(in crate::check) fn rounded_up(&mut self, lease_ns: u64) {
        self.lease_ns = lease_ns;
    }

    /// Returns when all values of an attempt have expired that ends now.
    fn expired_ns(&self, at_ns: u64, attempt: &Attempt) -> u64 {
        at_ns.saturating_add(self.longest_ns(attempt))
    }

    /// Returns how long an attempt's values may live after its end.
    fn longest_ns(&self, attempt: &Attempt) -> u64 {
        attempt.longest_lease_ns().max(self.lease_ns)
    }

    /// Allows the lock to be excused again, because all waiting times begin again.
    pub(in crate::check) fn forgive(&mut self) {
        self.excused = false;
    }

    /// Returns when it became impossible that a client holds the lock, or `None` if a client that is not stopped holds
    /// it, or is releasing it while its commands may be late.
    pub(in crate::check) fn clear_since_ns(&self, reach: &Reach) -> Option<u64> {
        let clear_ns = self.clear_but_for_kept_away_ns(reach)?;
        Some(clear_ns.max(self.kept_away_clear_ns))
    }

    /// Like [`Self::clear_since_ns`], but ignores leases that workers may have taken while a fault kept them from their
    /// nodes: each of their attempts leaves a doubt.
    pub(in crate::check) fn clear_but_for_kept_away_ns(&self, reach: &Reach) -> Option<u64> {
        let mut clear_ns = self.clear_ns;
        for release in &self.releases {
            if reach.may_be_late(release.worker, release.lock) {
                return None;
            }
            clear_ns = clear_ns.max(release.clear_ns);
        }
        for holder in &self.holders {
            clear_ns = clear_ns.max(self.lease_over_ns(holder, reach)?);
        }
        Some(clear_ns)
    }

    /// Returns when the lease of a holder is over that a fault stops, or `None` if the holder may renew its lease.
    fn lease_over_ns(&self, holder: &Holder, reach: &Reach) -> Option<u64> {
        let stopped_ns = reach.stopped_since_ns(holder.worker);
        let stopped_ns = stopped_ns.filter(|_| self.shows_renewals)?;
        let lease_ns = self.held_lease_ns.max(self.lease_ns);
        Some(stopped_ns.max(holder.renewed_ns).saturating_add(lease_ns))
    }

    /// Returns when the lock was last held, or `None` if a client holds it.
    pub(in crate::check) fn idle_since_ns(&self) -> Option<u64> {
        self.holders.is_empty().then_some(self.held_ns)
    }

    /// Returns when the last completed hold ended.
    pub(in crate::check) fn held_until_ns(&self) -> u64 {
        self.held_ns
    }

    /// Returns a lower bound of the time when no client can hold the lock any more, without the leases that workers may
    /// have taken while a fault kept them from their nodes.
    pub(in crate::check) fn clear_ns(&self) -> u64 {
        self.clear_ns
    }

    /// Returns `true` if an attempt has ended without a definite answer since the last grant.
    pub(in crate::check) fn is_in_doubt(&self) -> bool {
        self.doubt.is_some()
    }

    /// Returns the worker and the end of the last attempt without a definite answer since the last grant, if the lease
    /// that it may have taken had expired by `at_ns`. If its value blocks the lock later, something keeps it alive.
    pub(in crate::check) fn doubt_before(&self, at_ns: u64) -> Option<(usize, u64)> {
        let doubt = self.doubt.filter(|doubt| doubt.clear_ns <= at_ns)?;
        Some((doubt.worker, doubt.at_ns))
    }
}

/// The state of one lock, for the property `progress`.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct WantedLock {
    pub outstanding: Outstanding,
    /// Whether the current starvation has been reported.
    pub starved: bool,
    /// Whether a client waited for longer than the bound while a fault that is still active kept it away.
    pub kept_away: bool,
    /// When a key without expiry was found, or `None` if none was found.
    pub unexpiring_ns: Option<u64>,
    /// Whether a key was found after the run.
    pub left: bool,
    /// Whether the lock is a semaphore. The value of a semaphore may stay, because the probe shows whether a permit is
    /// missing.
    is_semaphore: bool,
    /// Whether the probe after the run got the lock, or `None` if there was no probe.
    pub probe_granted: Option<bool>,
}

impl WantedLock {
    /// Creates the states of all locks of a run. With a declared margin, their keys live for longer than the leases.
    pub fn all(header: &Header) -> Vec<Self> {
        let margin_ms = header.declares.lease_margin_ms;
        let mut lock = WantedLock {
            is_semaphore: header.capacity > 1,
            ..WantedLock::default()
        };
        lock.outstanding.shows_renewals = header.key_history;
        if margin_ms > 0 {
            lock.outstanding
                .rounded_up(ns_from_ms(header.ttl_ms.saturating_add(margin_ms)));
        }
        vec![lock; header.keys.len()]
    }

    /// Records that the lock's key was left after the run. A lifetime of -1 means that it never expires.
    pub fn record_left(&mut self, at_ns: u64, ttl_ms: i64) {
        self.left = true;
        if ttl_ms == -1 && !self.is_semaphore {
            self.unexpiring_ns.get_or_insert(at_ns);
        }
    }

    /// Returns the starvation by a key without expiry, unless it was reported already or the probe got the lock.
    pub fn unexpiring(&self, lock: u32) -> Option<Starvation> {
        let at_ns = self.unexpiring_ns?;
        if self.probe_granted == Some(true) || self.starved {
            return None;
        }
        Some(Starvation {
            lock,
            from_ns: at_ns,
            until_ns: at_ns,
            worker: None,
            in_turn: false,
            doubt: self.outstanding.doubt_before(u64::MAX),
            late_timeout: false,
            has_unexpiring_key: true,
        })
    }
}

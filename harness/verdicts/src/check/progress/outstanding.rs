//! Until when a lease of a lock may be outstanding.
//!
//! While a client holds the lock it may renew its lease. Afterwards the lock is free
//!
//! - when its release has been answered: the lock says so, and it is judged by that. An answer that
//!   comes later than the lease was over prolongs nothing;
//! - when the longest lease that its holder can have left has run out: the holder was killed, its
//!   release failed or is not answered. No command of that attempt can have set or renewed the key
//!   later than that, as long as none is on its way: a fault that holds commands back lets them pass
//!   when it ends, and then the lock is judged anew. Only a fault that delays each of them does not, so
//!   a release of a worker that it keeps from its nodes is waited for;
//! - when the same time has passed after an attempt without a certain answer: it may have taken the
//!   lock. If nothing kept that worker from its nodes, the doubt is of the lock's own making. It
//!   counts once: a lock whose every attempt ends in doubt must not excuse itself for ever.
//!
//! An attempt that was refused left nothing. When the run is over, all workers are ended: a client that
//! still holds the lock then is dead, and what it has left runs out like that of any other.

use crate::check::finding::Starvation;
use crate::check::progress::reach::Reach;
use crate::timeline::{AcquireFailure, Attempt, HoldEnd, Step};

/// A release that is not answered.
#[derive(Debug, Clone, Copy)]
struct Release {
    worker: usize,
    lock: u32,
    op: u64,
    clear_ns: u64,
}

/// An attempt without a certain answer.
#[derive(Debug, Clone, Copy)]
struct Doubt {
    worker: usize,
    at_ns: u64,
    /// What it may have taken has run out then.
    clear_ns: u64,
}

/// What may be outstanding of one lock.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct Outstanding {
    holding: u32,
    /// The longest lease that a holder may have had.
    held_lease_ns: u64,
    /// It was held when all workers were ended.
    cut_off: bool,
    releases: Vec<Release>,
    /// All other leases have certainly expired by then.
    clear_ns: u64,
    /// What workers may have taken that a fault kept from their nodes has expired by then.
    kept_away_clear_ns: u64,
    /// When the lock was last held.
    held_ns: u64,
    /// The last attempt without a certain answer since the last grant.
    doubt: Option<Doubt>,
    /// The lock has been excused for a doubt of its own making.
    excused: bool,
    /// How long a key lives at least, by what was written: the lease may be rounded up.
    lease_ns: u64,
}

impl Outstanding {
    /// A step of an attempt to get this lock.
    pub(in crate::check) fn step(
        &mut self,
        at_ns: u64,
        attempt: &Attempt,
        step: Step,
        reach: &Reach,
    ) {
        let clear_ns = at_ns.saturating_add(self.longest_ns(attempt));
        if matches!(step, Step::Begun | Step::LeaseMoved { .. }) {
            self.held_lease_ns = self.held_lease_ns.max(self.longest_ns(attempt));
        }
        match step {
            Step::Requested | Step::LeaseMoved { .. } => {}
            Step::Denied(denial) => self.denied(at_ns, attempt, denial, reach),
            Step::Begun => {
                self.holding += 1;
                (self.doubt, self.excused) = (None, false);
            }
            Step::Ended(how) => {
                self.holding = self.holding.saturating_sub(1);
                self.held(at_ns);
                if how == HoldEnd::Released {
                    self.releases.push(Release {
                        worker: attempt.worker,
                        lock: attempt.key,
                        op: attempt.op,
                        clear_ns,
                    });
                }
            }
            Step::Answered { released, .. } => {
                self.held(self.free_ns(at_ns, attempt, reach));
                self.releases.retain(|release| release.op != attempt.op);
                if released.is_none() {
                    self.clear_ns = self.clear_ns.max(clear_ns);
                }
            }
            Step::Gone => {
                self.releases.retain(|release| release.op != attempt.op);
                self.clear_ns = self.clear_ns.max(clear_ns);
            }
        }
    }

    fn denied(&mut self, at_ns: u64, attempt: &Attempt, denial: AcquireFailure, reach: &Reach) {
        if denial.is_definite() {
            return;
        }
        let clear_ns = at_ns.saturating_add(self.longest_ns(attempt));
        self.doubt = Some(Doubt {
            worker: attempt.worker,
            at_ns,
            clear_ns,
        });
        if !reach.has_quorum(attempt.worker, attempt.key) {
            self.kept_away_clear_ns = self.kept_away_clear_ns.max(clear_ns);
            return;
        }
        let own = reach.had_quorum_since(attempt.worker, attempt.key, attempt.acquire_ns);
        if !own || !self.excused {
            self.clear_ns = self.clear_ns.max(clear_ns);
            self.excused |= own;
        }
    }

    /// Since when a lock is free whose release is answered now: not later than its lease was over, unless
    /// commands of the releasing worker came late.
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

    /// All workers are ended by then, and their last command was executed no later.
    pub(in crate::check) fn workers_ended(&mut self, at_ns: u64) {
        if std::mem::take(&mut self.holding) > 0 {
            self.cut_off = true;
            self.held(at_ns);
            self.still_working(at_ns);
        }
    }

    /// A worker's command was executed after all were ended: one of them may not be.
    pub(in crate::check) fn still_working(&mut self, at_ns: u64) {
        if self.cut_off {
            let lease_ns = self.held_lease_ns.max(self.lease_ns);
            self.clear_ns = self.clear_ns.max(at_ns.saturating_add(lease_ns));
        }
    }

    /// The lock rounds its leases up: its keys live so long.
    pub(in crate::check) fn rounded_up(&mut self, lease_ns: u64) {
        self.lease_ns = lease_ns;
    }

    /// How long after its end an attempt's values may live.
    fn longest_ns(&self, attempt: &Attempt) -> u64 {
        attempt.longest_lease_ns().max(self.lease_ns)
    }

    /// A fault began or ended: from now on the lock is judged anew.
    pub(in crate::check) fn forgive(&mut self) {
        self.excused = false;
    }

    /// Since when no client can hold the lock any more. `None`: a client holds it, or is releasing it
    /// while its commands may be late.
    pub(in crate::check) fn clear_since_ns(&self, reach: &Reach) -> Option<u64> {
        let clear_ns = self.clear_but_for_kept_away_ns(reach)?;
        Some(clear_ns.max(self.kept_away_clear_ns))
    }

    /// The same, if what workers may have taken that a fault keeps from their nodes does not count: each
    /// of their attempts leaves a doubt.
    pub(in crate::check) fn clear_but_for_kept_away_ns(&self, reach: &Reach) -> Option<u64> {
        let mut clear_ns = self.clear_ns;
        for release in &self.releases {
            if reach.may_be_late(release.worker, release.lock) {
                return None;
            }
            clear_ns = clear_ns.max(release.clear_ns);
        }
        (self.holding == 0).then_some(clear_ns)
    }

    /// Since when no client has held the lock. `None`: a client holds it.
    pub(in crate::check) fn idle_since_ns(&self) -> Option<u64> {
        (self.holding == 0).then_some(self.held_ns)
    }

    /// When a client was last seen to hold the lock.
    pub(in crate::check) fn held_since_ns(&self) -> u64 {
        self.held_ns
    }

    /// It is no earlier than this that no client can hold the lock any more.
    pub(in crate::check) fn clear_ns(&self) -> u64 {
        self.clear_ns.max(self.kept_away_clear_ns)
    }

    /// True if an attempt has ended without a certain answer since the last grant.
    pub(in crate::check) fn is_in_doubt(&self) -> bool {
        self.doubt.is_some()
    }

    /// The last attempt without a certain answer since the last grant, its worker and when it ended, if what it may
    /// have taken had run out by then. If it blocks the lock later than that, something keeps it alive.
    pub(in crate::check) fn doubt_before(&self, at_ns: u64) -> Option<(usize, u64)> {
        let doubt = self.doubt.filter(|doubt| doubt.clear_ns <= at_ns)?;
        Some((doubt.worker, doubt.at_ns))
    }
}

/// The state of one lock, for progress.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct WantedKey {
    pub outstanding: Outstanding,
    /// The current starvation has been reported.
    pub starved: bool,
    /// A client waited for longer than the bound, and a fault that is still on kept it away.
    pub kept_away: bool,
    /// When a key without expiry was found.
    pub unexpiring_ns: Option<u64>,
    /// A key was found after the run.
    pub left: bool,
    /// Whether the probe after the run got the lock.
    pub probe_granted: Option<bool>,
}

impl WantedKey {
    /// A key without expiry that nobody got past, if that was not reported.
    pub fn unexpiring(&self, key: u32) -> Option<Starvation> {
        let at_ns = self.unexpiring_ns?;
        if self.probe_granted == Some(true) || self.starved {
            return None;
        }
        Some(Starvation {
            key,
            from_ns: at_ns,
            until_ns: at_ns,
            worker: None,
            in_turn: false,
            doubt: self.outstanding.doubt_before(u64::MAX),
            has_unexpiring_key: true,
        })
    }
}

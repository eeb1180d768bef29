//! Ownership in a history without custody: what clients said of their releases.
//!
//! `released: true` claims "the lock was mine until now, and is free". Let x be the time at which
//! the last command of that release that names the lock's key was sent on the wire (without a
//! wire log: when the release was sent). The claim is false if another hold of that key
//!
//! - had its grant's arrival strictly before x,
//! - had not begun its own release, and was not killed, until strictly after x, and
//! - was granted *after* the releasing one ([`Attempt::follows_ns`] says what proves that).
//!
//! The third condition matters because a client that overstays its own lease still counts as
//! holding, but a successor that releases its own, newer lock takes nothing from it. A late
//! *reply* proves nothing: only the time of the command counts, so nothing is known before the
//! answer arrives. Holds that ended in between are kept while a release of their key is
//! unanswered. An answer at the very time x waits until time moves on, because a release with the
//! same time may still follow.

use super::finding::ForeignRelease;
use crate::timeline::{Attempt, HoldEnd, Step};

/// A hold, open or ended, as far as it matters here.
#[derive(Debug, Clone, Copy)]
struct HoldTimes {
    op: u64,
    begin_ns: u64,
    follows_ns: u64,
    end_ns: u64,
}

#[derive(Debug, Clone, Default)]
struct KeyOwners {
    /// Open holds, by begin.
    open: Vec<HoldTimes>,
    /// Ended holds, by end; only those that an unanswered release may have affected.
    past: Vec<HoldTimes>,
    /// Unanswered releases: when each was sent, and its attempt; by time.
    pending: Vec<(u64, u64)>,
    /// Claims whose answer arrived at the very time of their last command.
    claims: Vec<Claim>,
}

/// A release that claims success.
#[derive(Debug, Clone, Copy)]
struct Claim {
    op: u64,
    begin_ns: u64,
    sent_ns: u64,
    struck_ns: u64,
}

/// Finds releases that succeeded on another client's lock.
#[derive(Debug, Default)]
pub(super) struct BareOwnership {
    keys: Vec<KeyOwners>,
    found: Vec<ForeignRelease>,
}

impl BareOwnership {
    /// For a history with so many locks.
    pub fn new(keys: usize) -> Self {
        BareOwnership {
            keys: vec![KeyOwners::default(); keys],
            found: Vec::new(),
        }
    }

    /// What was found since the last call.
    pub fn take(&mut self) -> impl Iterator<Item = ForeignRelease> + '_ {
        self.found.drain(..)
    }

    /// An attempt made a step.
    pub fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        if attempt.key as usize >= self.keys.len() {
            return;
        }
        self.settle(at_ns, attempt.key);
        let key = &mut self.keys[attempt.key as usize];
        match step {
            Step::Begun => key.begin(attempt),
            Step::Ended(how) => key.end(at_ns, attempt.op, how),
            Step::Answered {
                released,
                last_command_ns,
                ..
            } => {
                if let (Some(true), Some((sent_ns, _))) = (released, attempt.ended) {
                    key.claims.push(Claim {
                        op: attempt.op,
                        begin_ns: attempt.begun_ns(),
                        sent_ns,
                        struck_ns: last_command_ns.unwrap_or(sent_ns),
                    });
                }
                self.settle(at_ns, attempt.key);
                self.keys[attempt.key as usize].answered(attempt.op);
            }
            Step::Gone => key.answered(attempt.op),
            _ => {}
        }
    }

    /// Judges the claims whose time has passed.
    fn settle(&mut self, at_ns: u64, key: u32) {
        while let Some(claim) = self.keys[key as usize].ripe_claim(at_ns) {
            if let Some(owner) = self.keys[key as usize].owner_at(&claim) {
                self.found.push(ForeignRelease {
                    key,
                    releaser: claim.op,
                    owner: owner.op,
                    owned_ns: owner.begin_ns,
                    sent_ns: claim.sent_ns,
                    struck_ns: claim.struck_ns,
                    extended: false,
                });
            }
        }
    }
}

impl KeyOwners {
    fn begin(&mut self, attempt: &Attempt) {
        self.open.push(HoldTimes {
            op: attempt.op,
            begin_ns: attempt.begun_ns(),
            follows_ns: attempt.follows_ns,
            end_ns: u64::MAX,
        });
    }

    fn end(&mut self, at_ns: u64, op: u64, how: HoldEnd) {
        if let Some(index) = self.open.iter().rposition(|other| other.op == op) {
            let other = self.open.remove(index);
            if !self.pending.is_empty() {
                self.past.push(HoldTimes {
                    end_ns: at_ns,
                    ..other
                });
            }
        }
        if how == HoldEnd::Released {
            self.pending.push((at_ns, op));
        }
    }

    fn answered(&mut self, op: u64) {
        self.pending.retain(|(_, pending)| *pending != op);
        match self.pending.first() {
            None => self.past.clear(),
            Some((oldest_ns, _)) => {
                let useless = self.past.partition_point(|past| past.end_ns <= *oldest_ns);
                self.past.drain(..useless);
            }
        }
    }

    /// The hold that owned the lock when the release's last command was sent, if it is not the
    /// releasing one. Must be called after that time.
    fn owner_at(&self, claim: &Claim) -> Option<HoldTimes> {
        let owned = |other: &&HoldTimes| {
            other.op != claim.op
                && other.begin_ns < claim.struck_ns
                && other.follows_ns > claim.begin_ns
        };
        // A hold that began no later than the releasing one was not provably granted later.
        let newer = |other: &&HoldTimes| other.begin_ns > claim.begin_ns;
        let over = |past: &HoldTimes| past.end_ns <= claim.struck_ns;
        let over = self.past.partition_point(over);
        let mut open = self.open.iter().rev().take_while(newer);
        let mut past = self.past[over..].iter();
        open.find(owned).or_else(|| past.find(owned)).copied()
    }

    /// A claim that can be judged at `at_ns`.
    fn ripe_claim(&mut self, at_ns: u64) -> Option<Claim> {
        let ripe = |claim: &Claim| claim.struck_ns < at_ns;
        let index = self.claims.iter().position(ripe)?;
        Some(self.claims.swap_remove(index))
    }
}

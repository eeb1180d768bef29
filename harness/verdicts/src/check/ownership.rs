//! Ownership: no release claims success on a lock that had passed to somebody else.
//!
//! `released: true` claims "it was mine until now, and is free". Let x be the moment when the
//! last command of that release that names the lock's key went out on the wire (without a wire
//! log: when the release was sent). The claim is false if another hold of that key
//!
//! - had its grant's arrival strictly before x,
//! - had not begun its own release, and was not killed, until strictly after x, and
//! - was granted *after* the releasing one ([`Attempt::follows_ns`] says what proves that).
//!
//! The third condition is what makes it theft: whoever overstays its own lease still counts as
//! holding, but a successor that releases its own, newer lock takes nothing from it. A late
//! *reply* proves nothing: only when the command went out counts, so nothing is known before the
//! answer arrives. Holds that ended in between are kept for as long as a release of their key is
//! unanswered. And an answer at the very time x has to wait until time moves on: a release that
//! carries the same time may still follow.

use crate::history::History;
use crate::timeline::{Attempt, AttemptTracker, HoldEnd, Step};

use super::checker::Checker;
use super::evidence::Evidence;
use super::verdict::{Status, Verdict};
use super::{cause, story};

/// A release that took another's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theft {
    /// The key.
    pub key: u32,
    /// The attempt whose release it was.
    pub thief: u64,
    /// The attempt whose lock it was.
    pub victim: u64,
    /// When the thief's release was sent.
    pub sent_ns: u64,
    /// When its last command went out.
    pub struck_ns: u64,
}

/// Another's hold, open or ended, as far as it matters here.
#[derive(Debug, Clone, Copy)]
struct Other {
    op: u64,
    begin_ns: u64,
    follows_ns: u64,
    end_ns: u64,
}

#[derive(Debug, Clone, Default)]
struct KeyOwners {
    /// By begin.
    open: Vec<Other>,
    /// By end; only those that a pending release may still have robbed.
    past: Vec<Other>,
    /// Unanswered releases, by the time when they were sent.
    pending: Vec<(u64, u64)>,
    /// Claims that were answered at the very time of their last command.
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

/// The checker.
#[derive(Debug)]
pub struct Ownership {
    keys: Vec<KeyOwners>,
    violations: u64,
    first: Option<Theft>,
    /// Where to keep all of them, in the second pass.
    all: Option<Vec<Theft>>,
}

impl Ownership {
    /// For a history with so many keys.
    pub fn new(keys: usize) -> Self {
        Ownership {
            keys: vec![KeyOwners::default(); keys],
            violations: 0,
            first: None,
            all: None,
        }
    }

    /// Judges the claims whose time has passed.
    fn settle(&mut self, at_ns: u64, key: u32) {
        while let Some(claim) = self.keys[key as usize].ripe_claim(at_ns) {
            if let Some(victim) = self.keys[key as usize].robbed(&claim) {
                self.found(Theft {
                    key,
                    thief: claim.op,
                    victim: victim.op,
                    sent_ns: claim.sent_ns,
                    struck_ns: claim.struck_ns,
                });
            }
        }
    }

    fn found(&mut self, theft: Theft) {
        self.violations += 1;
        if self
            .first
            .is_none_or(|first| theft.struck_ns < first.struck_ns)
        {
            self.first = Some(theft);
        }
        if let Some(all) = &mut self.all {
            all.push(theft);
        }
    }
}

impl KeyOwners {
    fn begin(&mut self, attempt: &Attempt) {
        self.open.push(Other {
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
                self.past.push(Other {
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

    /// The one that was robbed by a release, looked for after its last command's time.
    fn robbed(&self, claim: &Claim) -> Option<Other> {
        let robbed = |other: &&Other| {
            other.op != claim.op
                && other.begin_ns < claim.struck_ns
                && other.follows_ns > claim.begin_ns
        };
        // Whoever began no later than the thief cannot have been granted provably later.
        let newer = |other: &&Other| other.begin_ns > claim.begin_ns;
        let survived = |past: &Other| past.end_ns <= claim.struck_ns;
        let survived = self.past.partition_point(survived);
        let mut open = self.open.iter().rev().take_while(newer);
        let mut past = self.past[survived..].iter();
        open.find(robbed).or_else(|| past.find(robbed)).copied()
    }

    /// Time has come to `at_ns`: hands out a claim that can be judged now.
    fn ripe_claim(&mut self, at_ns: u64) -> Option<Claim> {
        let ripe = |claim: &Claim| claim.struck_ns < at_ns;
        let index = self.claims.iter().position(ripe)?;
        Some(self.claims.swap_remove(index))
    }
}

impl Checker for Ownership {
    fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
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

    fn finish(self: Box<Self>, evidence: &Evidence<'_>) -> Verdict {
        let Some(first) = self.first else {
            return Verdict::held();
        };
        Verdict {
            status: Status::Violated,
            cause: Some(cause::of_theft(evidence, &first)),
            story: story::of_theft(evidence, &first),
            violations: self.violations,
            at_ns: Some(first.struck_ns),
        }
    }
}

/// All releases that took another's lock, in the order in which they showed.
pub fn thefts(history: &History) -> Vec<Theft> {
    let mut tracker = AttemptTracker::new(history.header.workers);
    let mut checker = Ownership::new(history.header.keys.len());
    checker.all = Some(Vec::new());
    for event in &history.events {
        tracker.event(event, |attempt, step| {
            checker.step(event.at_ns, attempt, step);
        });
    }
    checker.all.unwrap_or_default()
}

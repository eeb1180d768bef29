//! Fencing: tokens strictly increase in the order of holds.
//!
//! Tokens are made at the grant, and grants may arrive out of order, so a token is compared only
//! with those of holds that were provably granted before it: those whose grant had arrived when
//! this attempt was asked for; and, if the lease of this grant had not run out when it arrived
//! ([`Attempt::follows_ns`] is then the arrival itself), those whose hold had ended by then. Of
//! each the highest token is enough. Holds that overlap are not compared with each other: which
//! of them was granted first is not known, and that they overlap is another property's affair.

use crate::timeline::{Attempt, Step};

use super::cause;
use super::checker::Checker;
use super::evidence::Evidence;
use super::story;
use super::verdict::{Status, Verdict};

/// A token that was not higher than an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaleToken {
    /// The attempt that got it.
    pub op: u64,
    /// When it arrived.
    pub at_ns: u64,
    /// The token.
    pub fence: u64,
    /// The highest token before it.
    pub highest: u64,
}

/// The highest token so far. What came at the present moment is kept apart, because equal times
/// prove no order.
#[derive(Debug, Clone, Copy, Default)]
struct Highest {
    latest_ns: u64,
    before: Option<u64>,
    now: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct KeyTokens {
    /// Of all tokens that have arrived.
    arrived: Highest,
    /// Of all holds that have ended.
    ended: Highest,
}

impl Highest {
    fn add(&mut self, at_ns: u64, fence: u64) {
        if at_ns > self.latest_ns {
            self.before = self.now;
            self.latest_ns = at_ns;
        }
        self.now = self.now.max(Some(fence));
    }

    /// Strictly before this moment.
    fn before(&self, at_ns: u64) -> Option<u64> {
        if at_ns > self.latest_ns {
            self.now
        } else {
            self.before
        }
    }
}

/// The checker.
#[derive(Debug)]
pub struct Fencing {
    keys: Vec<KeyTokens>,
    /// For each worker: its latest attempt, and the highest token that had arrived before it.
    asked: Vec<Option<(u64, Option<u64>)>>,
    violations: u64,
    first: Option<StaleToken>,
    tokens: bool,
}

impl Fencing {
    /// For a history with so many workers and keys.
    pub fn new(workers: usize, keys: usize) -> Self {
        Fencing {
            keys: vec![KeyTokens::default(); keys],
            asked: vec![None; workers],
            violations: 0,
            first: None,
            tokens: false,
        }
    }

    fn granted(&mut self, at_ns: u64, attempt: &Attempt, fence: u64) {
        self.tokens = true;
        let tokens = &mut self.keys[attempt.key as usize];
        let before = match self.asked.get(attempt.worker) {
            Some(Some((op, before))) if *op == attempt.op => *before,
            _ => None,
        };
        let ended = tokens.ended.before(at_ns);
        let ended = ended.filter(|_| attempt.follows_ns == at_ns);
        tokens.arrived.add(at_ns, fence);
        if let Some(highest) = before.max(ended)
            && fence <= highest
        {
            self.violations += 1;
            self.first.get_or_insert(StaleToken {
                op: attempt.op,
                at_ns,
                fence,
                highest,
            });
        }
    }
}

impl Checker for Fencing {
    fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        let Some(tokens) = self.keys.get_mut(attempt.key as usize) else {
            return;
        };
        match (step, attempt.fence) {
            (Step::Asked, _) => {
                if let Some(asked) = self.asked.get_mut(attempt.worker) {
                    *asked = Some((attempt.op, tokens.arrived.before(at_ns)));
                }
            }
            (Step::Begun, Some(fence)) => self.granted(at_ns, attempt, fence),
            (Step::Ended(_), Some(fence)) => tokens.ended.add(at_ns, fence),
            _ => {}
        }
    }

    fn finish(self: Box<Self>, evidence: &Evidence<'_>) -> Verdict {
        if !self.tokens {
            return Verdict::not_applicable();
        }
        let Some(first) = self.first else {
            return Verdict::held();
        };
        Verdict {
            status: Status::Violated,
            cause: Some(cause::of_stale_token(evidence, &first)),
            story: story::of_stale_token(evidence, &first),
            violations: self.violations,
            at_ns: Some(first.at_ns),
        }
    }
}

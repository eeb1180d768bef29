//! Fencing: tokens strictly increase in the order of holds, and no two grants have the same one.
//!
//! Tokens are made at the grant, and grants may arrive out of order. So a token is compared only
//! with tokens of holds that were provably granted before it: those whose grant had arrived when
//! this attempt was sent; and, if the lease of this grant had not expired when it arrived
//! ([`Attempt::follows_ns`] is then the arrival itself), those whose hold had ended by then. The
//! highest token of each group is enough. Of holds that overlap it is not known which was granted
//! first. But whatever their order, two grants must not have the same token: the resource could not
//! tell one holder from the other.

use picklock_scenarios::Property;

use crate::check::checker::Checker;
use crate::check::description::Description;
use crate::check::finding::{Finding, Judgement, Seen, StaleToken};
use crate::check::token_set::TokenSet;
use crate::history::{Header, History};
use crate::timeline::{Attempt, AttemptTracker, Hold, Step};

/// The highest token so far. Tokens of the latest time are kept apart, because equal times prove
/// no order.
#[derive(Debug, Clone, Copy, Default)]
struct Highest {
    latest_ns: u64,
    before: Option<u64>,
    now: Option<u64>,
}

#[derive(Debug, Clone, Default)]
struct KeyTokens {
    /// All tokens that have arrived.
    arrived: Highest,
    /// The tokens of all holds that have ended.
    ended: Highest,
    granted: TokenSet,
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
pub(in crate::check) struct Fencing {
    keys: Vec<KeyTokens>,
    /// For each worker: its latest attempt, and the highest token that had arrived before it.
    asked: Vec<Option<(u64, Option<u64>)>>,
    violations: u64,
    first: Option<Finding>,
    /// Every violation, if somebody wants to know them all.
    all: Option<Vec<StaleToken>>,
    tokens: bool,
}

/// All tokens that were not higher than one before them, in the order in which they arrived.
///
/// The checker reports only the first; a picture shows them all.
pub fn stale_tokens(history: &History) -> Vec<StaleToken> {
    let mut tracker = AttemptTracker::new(history.header.workers);
    let mut checker = Fencing::new(&history.header);
    checker.all = Some(Vec::new());
    for event in &history.events {
        tracker.event(event, |attempt, step| {
            checker.step(event.at_ns, attempt, step);
        });
    }
    checker.all.unwrap_or_default()
}

impl Fencing {
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
        let repeated = (!tokens.granted.insert(fence)).then_some(fence);
        let higher = before.max(ended).filter(|highest| fence <= *highest);
        if let Some(highest) = higher.max(repeated) {
            self.violations += 1;
            let stale = StaleToken {
                op: attempt.op,
                fence,
                highest,
            };
            self.first.get_or_insert(Finding {
                property: Property::Fencing,
                at_ns,
                seen: Seen::StaleToken(stale),
            });
            if let Some(all) = &mut self.all {
                all.push(stale);
            }
        }
    }
}

impl Checker for Fencing {
    const DESCRIPTION: Description = Description {
        letter: 'F',
        severity: 4,
        held: "tokens increased with every hold",
        violated: "a token did not increase",
        not_applicable: "the lock has no fencing tokens",
        page: include_str!("../../../../../docs/explain/fencing.md"),
    };

    fn new(header: &Header) -> Self {
        Fencing {
            keys: vec![KeyTokens::default(); header.keys.len()],
            asked: vec![None; header.workers],
            violations: 0,
            first: None,
            all: None,
            tokens: false,
        }
    }

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

    fn finish(self, _: &[Hold]) -> Judgement {
        if !self.tokens {
            return Judgement::NotApplicable;
        }
        Judgement::of(self.first, self.violations)
    }
}

//! Fencing: tokens strictly increase in the order of holds, and no two grants have the same token.
//!
//! Tokens are created at the grant, and grants may arrive out of order. So a token is compared only with tokens of
//! holds that were provably granted before it. Those are the holds whose grant had arrived when this attempt was sent
//! and, if the lease of this grant had not expired when it arrived ([`Hold::follows_grants_before_ns`] is then the
//! arrival itself), the holds that had ended by then. The highest token of each group suffices. For overlapping holds
//! it is unknown which was granted first. But whatever their order, two grants must not have the same token, because
//! the resource could not distinguish the two holders.

use std::collections::{HashMap, HashSet};

use crate::check::checker::Checker;
use crate::check::description::Description;
use crate::check::finding::{Judgement, Observation, StaleToken};
use crate::history::Header;
use crate::timeline::{Attempt, Hold, Step, Timeline};

/// Times in ascending order, each with the highest token up to that time.
#[derive(Debug, Default)]
struct HighestTokens(Vec<(u64, u64)>);

impl HighestTokens {
    /// Creates the list from tokens, each with its time.
    fn new(mut tokens: Vec<(u64, u64)>) -> Self {
        tokens.sort_unstable();
        let mut highest = 0;
        for (_, token) in &mut tokens {
            highest = highest.max(*token);
            *token = highest;
        }
        HighestTokens(tokens)
    }

    /// Returns the highest token strictly before `at_ns`. Equal times prove no order.
    fn before(&self, at_ns: u64) -> Option<u64> {
        let known = self.0.partition_point(|(token_ns, _)| *token_ns < at_ns);
        let (_, highest) = self.0.get(known.checked_sub(1)?)?;
        Some(*highest)
    }
}

/// The checker. While the tokens of each lock increase in the order in which the grants arrived, every token is higher
/// than all tokens that it is compared with, because their holds began earlier. It uses the holds only if that ends.
pub(in crate::check) struct Fencing {
    /// The latest token of each lock.
    latest: Vec<Option<u64>>,
    /// Whether some token may not have increased.
    may_be_stale: bool,
}

/// Returns all tokens that were not higher than an earlier token, in the order in which they arrived.
///
/// The checker reports only the first; charts show all of them.
pub fn stale_tokens(timeline: &Timeline<'_>) -> Vec<StaleToken> {
    let holds = timeline.holds();
    let by_key = |time: fn(&Hold) -> u64| {
        let mut keys: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
        for hold in holds {
            let token = hold.fence.map(|fence| (time(hold), fence));
            keys.entry(hold.lock).or_default().extend(token);
        }
        (keys.into_iter())
            .map(|(key, tokens)| (key, HighestTokens::new(tokens)))
            .collect::<HashMap<u32, HighestTokens>>()
    };
    let arrived = by_key(|hold| hold.begin_ns);
    let ended = by_key(|hold| hold.end_ns);
    let mut granted = HashSet::new();
    let stale = holds.iter().filter_map(|hold| {
        let (key, fence) = (hold.lock, hold.fence?);
        let highest_arrived = arrived[&key].before(hold.acquire_ns);
        let highest_ended = (ended[&key].before(hold.begin_ns))
            .filter(|_| hold.follows_grants_before_ns == hold.begin_ns);
        let higher = (highest_arrived.max(highest_ended)).filter(|highest| fence <= *highest);
        let repeated = (!granted.insert((key, fence))).then_some(fence);
        let highest = higher.max(repeated)?;
        Some(StaleToken {
            op: hold.op,
            at_ns: hold.begin_ns,
            fence,
            highest,
        })
    });
    stale.collect()
}

impl Checker for Fencing {
    const DESCRIPTION: Description = Description {
        letter: 'F',
        severity: 4,
        held: "tokens increased with every hold",
        violated: "a token did not increase",
        not_applicable: "the lock has no fencing tokens",
        page: include_str!("../../../explain/fencing.md"),
    };

    fn new(header: &Header) -> Self {
        Fencing {
            latest: vec![None; header.keys.len()],
            may_be_stale: false,
        }
    }

    fn step(&mut self, _: u64, attempt: &Attempt, step: Step) {
        let token = match step {
            Step::Begun => attempt.fence,
            // A leader may get a new token with each permission to act.
            Step::Acted => {
                self.may_be_stale = true;
                return;
            }
            _ => return,
        };
        let Some(token) = token else {
            return;
        };
        match self.latest.get_mut(attempt.lock as usize) {
            Some(latest) => self.may_be_stale |= latest.replace(token) >= Some(token),
            // The header does not name this lock.
            None => self.may_be_stale = true,
        }
    }

    fn finish(self, timeline: &Timeline<'_>) -> Judgement {
        if !self.may_be_stale {
            let has_tokens = self.latest.iter().any(Option::is_some);
            let held = has_tokens.then_some(Judgement::Held);
            return held.unwrap_or(Judgement::NotApplicable);
        }
        if timeline.holds().iter().all(|hold| hold.fence.is_none()) {
            return Judgement::NotApplicable;
        }
        let stale = stale_tokens(timeline).into_iter();
        let found = stale.map(|token| (token.at_ns, Observation::StaleToken(token)));
        Judgement::from_observations(found.collect())
    }
}

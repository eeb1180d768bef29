//! Fencing: tokens strictly increase in the order of holds, and no two grants have the same one.
//!
//! Tokens are made at the grant, and grants may arrive out of order. So a token is compared only
//! with tokens of holds that were provably granted before it: those whose grant had arrived when
//! this attempt was sent; and, if the lease of this grant had not expired when it arrived
//! ([`Hold::follows_ns`] is then the arrival itself), those whose hold had ended by then. The
//! highest token of each group is enough. Of holds that overlap it is not known which was granted
//! first. But whatever their order, two grants must not have the same token: the resource could not
//! tell one holder from the other.

use std::collections::{HashMap, HashSet};

use crate::check::checker::Checker;
use crate::check::description::Description;
use crate::check::finding::{Judgement, Seen, StaleToken};
use crate::history::Header;
use crate::timeline::{Hold, Timeline};

/// Times, each with the highest token until then.
#[derive(Debug, Default)]
struct Highest(Vec<(u64, u64)>);

impl Highest {
    /// Of these tokens, each with its time.
    fn new(mut tokens: Vec<(u64, u64)>) -> Self {
        tokens.sort_unstable();
        let mut highest = 0;
        for (_, token) in &mut tokens {
            highest = highest.max(*token);
            *token = highest;
        }
        Highest(tokens)
    }

    /// The highest token strictly before this moment: equal times prove no order.
    fn before(&self, at_ns: u64) -> Option<u64> {
        let known = self.0.partition_point(|(token_ns, _)| *token_ns < at_ns);
        let (_, highest) = self.0.get(known.checked_sub(1)?)?;
        Some(*highest)
    }
}

/// The checker. It looks at nothing but the holds.
pub(in crate::check) struct Fencing;

/// All tokens that were not higher than one before them, in the order in which they arrived.
///
/// The checker reports only the first; a picture shows them all.
pub fn stale_tokens(timeline: &Timeline<'_>) -> Vec<StaleToken> {
    let holds = timeline.holds();
    let by_key = |time: fn(&Hold) -> u64| {
        let mut keys: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
        for hold in holds {
            let token = hold.fence.map(|fence| (time(hold), fence));
            keys.entry(hold.key).or_default().extend(token);
        }
        let keys = keys.into_iter();
        keys.map(|(key, tokens)| (key, Highest::new(tokens)))
            .collect::<HashMap<u32, Highest>>()
    };
    let arrived = by_key(|hold| hold.begin_ns);
    let ended = by_key(|hold| hold.end_ns);
    let mut granted = HashSet::new();
    let stale = holds.iter().filter_map(|hold| {
        let (key, fence) = (hold.key, hold.fence?);
        let arrived = arrived[&key].before(hold.acquire_ns);
        let ended = ended[&key].before(hold.begin_ns);
        let ended = ended.filter(|_| hold.follows_ns == hold.begin_ns);
        let higher = arrived.max(ended).filter(|highest| fence <= *highest);
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

    fn new(_: &Header) -> Self {
        Fencing
    }

    fn finish(self, timeline: &Timeline<'_>) -> Judgement {
        if timeline.holds().iter().all(|hold| hold.fence.is_none()) {
            return Judgement::NotApplicable;
        }
        let found = stale_tokens(timeline).into_iter();
        let found = found.map(|stale| (stale.at_ns, Seen::StaleToken(stale)));
        Judgement::of(found.collect())
    }
}

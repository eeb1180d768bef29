//! Pairs of holds of one key that overlap.

use std::collections::HashMap;

use super::finding::{Finding, Judgement, Seen};
use crate::timeline::Hold;

/// Calls `on_pair` with every two holds of one key that overlap or touch, the one that began first first.
///
/// `holds` must be in the order in which they began. The cost per hold is the number of concurrent holds, and a worker
/// has one at a time.
fn each_pair<'a>(holds: &'a [Hold], mut on_pair: impl FnMut(&'a Hold, &'a Hold)) {
    let mut current: HashMap<u32, Vec<&Hold>> = HashMap::new();
    for hold in holds {
        let others = current.entry(hold.key).or_default();
        others.retain(|other| other.end_ns >= hold.begin_ns);
        others.iter().for_each(|other| on_pair(other, hold));
        others.push(hold);
    }
}

/// A filter for the pairs of holds that are judged.
pub(super) type PairFilter<'a> = &'a dyn Fn(&Hold, &Hold) -> bool;

/// Accepts every pair.
pub(super) const ALL_PAIRS: PairFilter<'static> = &|_, _| true;

/// Judges a property that forbids overlaps between two holds of a key.
///
/// `overlaps` returns how many parts of two holds overlap, and when the first overlap begins.
pub(super) fn judge_pairs(
    holds: &[Hold],
    is_judged: PairFilter<'_>,
    overlaps: impl Fn(&Hold, &Hold) -> (u64, Option<u64>),
) -> Judgement {
    let (mut count, mut first) = (0, None);
    each_pair(holds, |earlier, later| {
        if !is_judged(earlier, later) {
            return;
        }
        let (overlap_count, onset_ns) = overlaps(earlier, later);
        count += overlap_count;
        if let Some(onset_ns) = onset_ns
            && first.is_none_or(|(first_ns, _)| onset_ns < first_ns)
        {
            first = Some((onset_ns, (earlier.op, later.op)));
        }
    });
    first.map_or(Judgement::Held, |(at_ns, (earlier, later))| {
        let seen = Seen::Overlap { earlier, later };
        let first = Finding { at_ns, seen };
        Judgement::Violated { first, count }
    })
}

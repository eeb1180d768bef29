//! Pairs of holds of one key that were on at the same time.

use std::collections::HashMap;

use super::finding::{Finding, Judgement, Seen};
use crate::timeline::Hold;

/// Calls `see` with every two holds of one key that overlap or touch, each time the one that began first
/// before the other. `holds` are in the order in which they began. This costs as much as there are holds
/// beside each, and a worker has one at a time.
fn each_pair<'a>(holds: &'a [Hold], mut see: impl FnMut(&'a Hold, &'a Hold)) {
    let mut beside: HashMap<u32, Vec<&Hold>> = HashMap::new();
    for hold in holds {
        let others = beside.entry(hold.key).or_default();
        others.retain(|other| other.end_ns >= hold.begin_ns);
        others.iter().for_each(|other| see(other, hold));
        others.push(hold);
    }
}

/// Whether two holds count as a pair at all.
pub(super) type Pairs<'a> = &'a dyn Fn(&Hold, &Hold) -> bool;

/// Every two holds.
pub(super) const ALL: Pairs<'static> = &|_, _| true;

/// Judges a property that demands that nothing of two holds of a key overlaps. `shared`: how much of the two
/// does, and since when.
pub(super) fn judge_pairs(
    holds: &[Hold],
    pairs: Pairs<'_>,
    shared: impl Fn(&Hold, &Hold) -> (u64, Option<u64>),
) -> Judgement {
    let (mut count, mut first) = (0, None);
    each_pair(holds, |earlier, later| {
        if !pairs(earlier, later) {
            return;
        }
        let (pairs, since_ns) = shared(earlier, later);
        count += pairs;
        if let Some(onset_ns) = since_ns
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

//! Pairs of holds of one key that overlap.

use std::collections::HashMap;

use super::finding::{Finding, Judgement, Seen};
use crate::timeline::{Hold, Lease, work_count};

/// Maximum number of concurrent holds with which a hold is compared. More than that already overlap each other, and
/// only the number of violations is then a lower bound.
const MAX_COMPARED: usize = 256;

/// Calls `on_pair` with every two holds of one key of which the later one begins before `until_ns` of the earlier one,
/// the one that began first first.
///
/// `holds` must be in the order in which they began. The cost per hold is the number of concurrent holds, but at most
/// [`MAX_COMPARED`]: those that last longest are kept.
fn each_pair<'a>(
    holds: &'a [Hold],
    until_ns: impl Fn(&Hold) -> u64,
    mut on_pair: impl FnMut(&'a Hold, &'a Hold),
) {
    let mut current: HashMap<u32, Vec<(u64, &Hold)>> = HashMap::new();
    for hold in holds {
        let others = current.entry(hold.key).or_default();
        work_count::add(others.len());
        others.retain(|(until_ns, _)| *until_ns >= hold.begin_ns);
        others.iter().for_each(|(_, other)| on_pair(other, hold));
        others.push((until_ns(hold), hold));
        if others.len() > MAX_COMPARED {
            let ends = others.iter().enumerate();
            let first_to_end = ends.min_by_key(|(_, (until_ns, _))| *until_ns);
            first_to_end
                .map(|(index, _)| index)
                .map(|index| others.remove(index));
        }
    }
}

/// A filter for the pairs of holds that are judged.
pub(super) type PairFilter<'a> = &'a dyn Fn(&Hold, &Hold) -> bool;

/// Accepts every pair.
pub(super) const ALL_PAIRS: PairFilter<'static> = &|_, _| true;

/// Returns when the last of these leases ends, for [`judge_pairs`].
pub(super) fn last_end_ns(leases: &[Lease]) -> u64 {
    let ends = leases.iter().map(|lease| lease.until_ns);
    ends.max().unwrap_or(0)
}

/// Judges a property that forbids overlaps between two holds of a key.
///
/// `until_ns` returns until when a hold can overlap with later ones. `overlaps` returns how many parts of two holds
/// overlap, and when the first overlap begins.
pub(super) fn judge_pairs(
    holds: &[Hold],
    is_judged: PairFilter<'_>,
    until_ns: impl Fn(&Hold) -> u64,
    overlaps: impl Fn(&Hold, &Hold) -> (u64, Option<u64>),
) -> Judgement {
    let (mut count, mut first) = (0, None);
    each_pair(holds, until_ns, |earlier, later| {
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

//! Holds of one lock that together weigh more than the lock's capacity.
//!
//! A lock with one holder has the capacity 1, and every hold of it weighs 1, so any two holds that overlap are too
//! many. The capacity of a semaphore is the number of permits that it may grant at the same time.

use std::collections::HashMap;

use super::finding::{Finding, Judgement, Observation};
use crate::timeline::{Hold, Lease, work_count};

/// Maximum number of concurrent holds with which a hold is compared. If there are more, the first violations are still
/// found, and the number of violations is a lower bound.
const MAX_COMPARED: usize = 256;

/// Calls `on_hold` with every hold, and with the earlier holds of its lock that had not ended when it began.
///
/// `holds` must be in the order in which they began. `until_ns` returns the time from which a hold no longer counts:
/// its end, or the end of its lease. Each hold is compared with its concurrent holds, but with at most [`MAX_COMPARED`]
/// of them: those that last longest.
fn each_hold<'a>(
    holds: &'a [Hold],
    until_ns: impl Fn(&Hold) -> u64,
    mut on_hold: impl FnMut(&[(u64, &'a Hold)], &'a Hold),
) {
    let mut current: HashMap<u32, Vec<(u64, &Hold)>> = HashMap::new();
    for hold in holds {
        let others = current.entry(hold.lock).or_default();
        work_count::add(others.len());
        others.retain(|(until_ns, _)| *until_ns >= hold.begin_ns);
        on_hold(others, hold);
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

/// Returns when the last of these leases ends, for [`judge_overlaps`].
pub(super) fn last_end_ns(leases: &[Lease]) -> u64 {
    let ends = leases.iter().map(|lease| lease.until_ns);
    ends.max().unwrap_or(0)
}

/// A part of the latest hold in which an earlier hold ran, too.
#[derive(Debug, Clone, Copy)]
struct SharedPart<'a> {
    part: Lease,
    other: &'a Hold,
}

impl SharedPart<'_> {
    /// Returns `true` if both holds ran at this time. A part of zero length contains the time at which it begins.
    fn contains(&self, at_ns: u64) -> bool {
        self.part.from_ns <= at_ns
            && at_ns < self.part.until_ns.max(self.part.from_ns.saturating_add(1))
    }
}

/// Judges a property that requires that overlapping holds of a lock together weigh at most `capacity`.
///
/// `until_ns` returns the time until which a hold can overlap with later holds. `shared` adds the parts in which an
/// earlier and a later hold overlap. It is a violation if the holds weigh too much at the beginning of such a part.
pub(super) fn judge_overlaps(
    holds: &[Hold],
    capacity: u32,
    is_judged: PairFilter<'_>,
    until_ns: impl Fn(&Hold) -> u64,
    shared: impl Fn(&Hold, &Hold, &mut dyn FnMut(Lease)),
) -> Judgement {
    let (mut count, mut first): (u64, Option<(u64, Observation)>) = (0, None);
    let mut parts: Vec<SharedPart<'_>> = Vec::new();
    each_hold(holds, until_ns, |others, later| {
        parts.clear();
        let counts = |other: &Hold| !other.is_without_act && !later.is_without_act;
        let judged = others.iter().map(|(_, other)| *other);
        for other in judged.filter(|other| counts(other) && is_judged(other, later)) {
            shared(other, later, &mut |part| {
                parts.push(SharedPart { part, other });
            });
        }
        parts.sort_by_key(|shared| shared.part.from_ns);
        for (index, latest) in parts.iter().enumerate() {
            let at_ns = latest.part.from_ns;
            let together = || parts[..=index].iter().filter(|part| part.contains(at_ns));
            let is_too_much = |others: u64| others + u64::from(later.weight) > u64::from(capacity);
            // A single other hold may already weigh too much, as it always does for a lock with one holder.
            let is_violated = is_too_much(u64::from(latest.other.weight))
                || is_too_much(together().map(|part| u64::from(part.other.weight)).sum());
            if !is_violated {
                continue;
            }
            count += 1;
            if first.as_ref().is_none_or(|(first_ns, _)| at_ns < *first_ns) {
                let holders = together().map(|shared| shared.other.op).collect();
                let later = later.op;
                first = Some((at_ns, Observation::Overlap { holders, later }));
            }
        }
    });
    first.map_or(Judgement::Held, |(at_ns, observation)| {
        let first = Finding { at_ns, observation };
        Judgement::Violated { first, count }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::HoldEnd;

    fn hold(op: u64, weight: u32, begin_ns: u64, end_ns: u64) -> Hold {
        Hold {
            worker: op as usize,
            op,
            lock: 0,
            weight,
            acquire_ns: begin_ns,
            ttl_ns: 1000,
            begin_ns,
            end_ns,
            follows_grants_before_ns: begin_ns,
            first_deadline_ns: end_ns,
            deadline_ns: end_ns,
            earliest_deadline_ns: end_ns,
            leases: Default::default(),
            possible_leases: Default::default(),
            lease_reported: true,
            lease_observed: false,
            could_wait: false,
            token: op.to_string(),
            fence: None,
            ended: HoldEnd::Released,
            is_without_act: false,
        }
    }

    /// Returns the time of the first violation, the earlier holders and the later holder, or `None` if there is none.
    fn first(holds: &[Hold], capacity: u32) -> Option<(u64, Vec<u64>, u64)> {
        let end_ns = |hold: &Hold| hold.end_ns;
        let judgement =
            judge_overlaps(holds, capacity, ALL_PAIRS, end_ns, |one, other, on_part| {
                if one.overlaps(other) {
                    on_part(Lease {
                        from_ns: other.begin_ns,
                        until_ns: one.end_ns.min(other.end_ns),
                    });
                }
            });
        match judgement {
            Judgement::Violated {
                first:
                    Finding {
                        at_ns,
                        observation: Observation::Overlap { holders, later },
                    },
                ..
            } => Some((at_ns, holders, later)),
            _ => None,
        }
    }

    #[test]
    fn only_holds_beyond_the_capacity_are_too_many() {
        let holds = [hold(1, 1, 0, 10), hold(2, 1, 2, 4), hold(3, 1, 4, 8)];
        assert_eq!(first(&holds, 1), Some((2, vec![1], 2)));
        assert_eq!(first(&holds, 2), None, "the second has ended");
        let fourth = [holds.as_slice(), &[hold(4, 1, 5, 6)]].concat();
        assert_eq!(first(&fourth, 2), Some((5, vec![1, 3], 4)));
        assert_eq!(first(&fourth, 3), None);
    }

    #[test]
    fn weights_count() {
        let holds = [hold(1, 2, 0, 10), hold(2, 1, 1, 10), hold(3, 2, 2, 10)];
        assert_eq!(first(&holds, 5), None);
        assert_eq!(first(&holds, 4), Some((2, vec![1, 2], 3)));
        // A writer takes the whole capacity.
        let holds = [hold(1, 1, 0, 10), hold(2, 1, 1, 10), hold(3, 3, 2, 10)];
        assert_eq!(first(&holds, 3), Some((2, vec![1], 3)));
    }

    /// Compares the result with the sum of the weights at every time.
    #[test]
    fn random_holds_are_judged_as_by_the_definition() {
        let mut state = 7_u64;
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for round in 0..2000 {
            let capacity = 1 + draw(4) as u32;
            let mut holds: Vec<Hold> = (1..=8)
                .map(|op| {
                    let begin_ns = draw(20);
                    let weight = 1 + draw(u64::from(capacity)) as u32;
                    hold(op, weight, begin_ns, begin_ns + 1 + draw(9))
                })
                .collect();
            holds.sort_by_key(|hold| hold.begin_ns);
            let load = |at_ns: u64| -> u32 {
                let inside = holds
                    .iter()
                    .filter(|part| part.begin_ns <= at_ns && at_ns < part.end_ns);
                inside.map(|hold| hold.weight).sum()
            };
            let too_much = (0..30).find(|at_ns| load(*at_ns) > capacity);
            let found = first(&holds, capacity).map(|(at_ns, ..)| at_ns);
            assert_eq!(found, too_much, "round {round}");
        }
    }
}

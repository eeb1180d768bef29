//! The part of a run that a timeline shows: the holds around the first violation.

use std::collections::BTreeMap;

use picklock_verdicts::record::RunRecord;

use super::story::violated;
use crate::worker_lanes::{Activity, Lane, Segment};

/// A part of a run, for one lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) lock: u32,
}

/// Returns the window around the first violation. Returns the whole run if the violation has no time, or if
/// no worker held the lock at that time.
pub(super) fn around_violation(
    record: &RunRecord,
    lanes: &BTreeMap<usize, Lane>,
    end_ns: u64,
) -> Window {
    let whole = |lock| Window {
        from_ns: 0,
        to_ns: end_ns,
        lock,
    };
    let Some(at_ns) = violated(record).find_map(|(_, verdict)| verdict.at_ns) else {
        return whole(0);
    };
    let lock = lock_at(lanes, at_ns);
    let Some(core) = reach(lanes, lock, (at_ns, at_ns)) else {
        return whole(lock);
    };
    let length_ns = core.1 - core.0;
    let mut span = core;
    // Include neighbouring holds unless they are so long that they would dwarf the violation.
    if let Some(wider) = reach(lanes, lock, core)
        && wider.1 - wider.0 <= length_ns.saturating_mul(3)
    {
        span = wider;
    }
    // A double sale may occur a little later than the overlap that caused it.
    for at_ns in violated(record).filter_map(|(_, verdict)| verdict.at_ns) {
        if at_ns <= span.1.saturating_add(length_ns) && at_ns >= span.0.saturating_sub(length_ns) {
            span = (span.0.min(at_ns), span.1.max(at_ns));
        }
    }
    let margin_ns = (span.1 - span.0) / 40 + 1;
    Window {
        from_ns: span.0.saturating_sub(margin_ns),
        to_ns: span.1.saturating_add(margin_ns),
        lock,
    }
}

/// Returns the start and the end of the purchases that touch `span`, including their holds and releases but
/// not their waits.
fn reach(lanes: &BTreeMap<usize, Lane>, lock: u32, span: (u64, u64)) -> Option<(u64, u64)> {
    let mut reach: Option<(u64, u64)> = None;
    for lane in lanes.values() {
        let inside = |s: &&Segment| s.key == lock && s.activity != Activity::Waiting;
        let segments = || lane.segments.iter().filter(inside);
        let touching = segments().filter(|s| s.from_ns <= span.1 && s.to_ns >= span.0);
        let (first, last) = touching.fold((u64::MAX, 0), |(first, last), s| {
            (s.op.min(first), s.op.max(last))
        });
        for s in segments().filter(|s| s.op >= first && s.op <= last) {
            let (from_ns, to_ns) = reach.unwrap_or((s.from_ns, s.to_ns));
            reach = Some((from_ns.min(s.from_ns), to_ns.max(s.to_ns)));
        }
    }
    reach
}

/// Returns the lock that most workers held at that time, or the first lock if none was held.
fn lock_at(lanes: &BTreeMap<usize, Lane>, at_ns: u64) -> u32 {
    let mut holders: BTreeMap<u32, usize> = BTreeMap::new();
    for segment in lanes.values().flat_map(|lane| &lane.segments) {
        if segment.activity.holds() && segment.from_ns <= at_ns && at_ns <= segment.to_ns {
            *holders.entry(segment.key).or_default() += 1;
        }
    }
    let most = holders.into_iter().max_by_key(|&(_, holders)| holders);
    most.map_or(0, |(lock, _)| lock)
}

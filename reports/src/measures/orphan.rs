//! Periods in which a lock was unavailable: because it was not released, or after a fault.

use std::collections::{BTreeMap, HashSet};

use picklock_verdicts::timeline::{
    Hold, HoldEnd, Operation, OperationKind, OperationOutcome, Timeline, is_instantaneous,
};

use super::merged;

/// A lock whose holder died, or whose release ended in an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// The worker that held it.
    pub worker: usize,
    /// When the hold ended without a release, in nanoseconds since the start of the run.
    pub from_ns: u64,
    /// When the lock was next granted, or `None` if it never was.
    pub granted_ns: Option<u64>,
    /// Total time until then in which at least one worker requested the lock, in nanoseconds.
    pub blocked_ns: u64,
    /// Whether the holder died. Otherwise its release ended in an error.
    pub died: bool,
}

/// Returns the orphaned locks of a history, in order of their holds.
///
/// A worker that died before its grant arrived may have left a lock behind as well, but a history does not contain such
/// locks.
pub(super) fn orphans(timeline: &Timeline<'_>) -> Vec<Orphan> {
    let (holds, operations) = (timeline.holds(), timeline.operations());
    let failed = operations.iter().filter(|operation| {
        operation.kind == OperationKind::Release && operation.outcome == OperationOutcome::Failed
    });
    let failed: HashSet<u64> = failed.map(|release| release.op).collect();
    let is_orphaned = |hold: &&Hold| hold.ended == HoldEnd::Killed || failed.contains(&hold.op);
    let orphaned_holds: Vec<&Hold> = holds.iter().filter(is_orphaned).collect();
    if orphaned_holds.is_empty() {
        return Vec::new();
    }
    let mut grants: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for hold in holds {
        grants.entry(hold.lock).or_default().push(hold.begin_ns);
    }
    let waits = waits(operations);
    let end_ns = timeline.end_ns();
    let orphans = orphaned_holds.into_iter().map(|hold| {
        let grants = grants.get(&hold.lock).map_or(&[][..], Vec::as_slice);
        let next = grants.partition_point(|begin_ns| *begin_ns <= hold.end_ns);
        let granted_ns = grants.get(next).copied();
        let until_ns = granted_ns.unwrap_or(end_ns);
        let waits = waits.get(&hold.lock).map_or(&[][..], Vec::as_slice);
        Orphan {
            worker: hold.worker,
            from_ns: hold.end_ns,
            granted_ns,
            blocked_ns: shared_ns(waits, hold.end_ns, until_ns),
            died: hold.ended == HoldEnd::Killed,
        }
    });
    orphans.collect()
}

/// Returns the times at which at least one worker was requesting each key, as disjoint spans ordered by time.
fn waits(operations: &[Operation]) -> BTreeMap<u32, Vec<(u64, u64)>> {
    let mut requests: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    let waits = operations.iter();
    for wait in waits.filter(|wait| wait.kind == OperationKind::Acquire) {
        let spans = requests.entry(wait.lock).or_default();
        spans.push((wait.requested_at_ns, wait.ended_at_ns));
    }
    let merge = |(key, spans)| (key, merged(spans));
    requests.into_iter().map(merge).collect()
}

/// Returns how much of `from_ns..to_ns` the spans cover.
fn shared_ns(spans: &[(u64, u64)], from_ns: u64, to_ns: u64) -> u64 {
    let first = spans.partition_point(|span| span.1 <= from_ns);
    let within = spans[first..].iter().take_while(|span| span.0 < to_ns);
    within
        .map(|span| span.1.min(to_ns) - span.0.max(from_ns))
        .sum()
}

/// A fault that ended before the run did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// Kind of the fault.
    pub fault: String,
    /// Description of the fault.
    pub detail: String,
    /// When the fault ended, in nanoseconds since the start of the run. An instantaneous fault ends when it
    /// fires.
    pub ended_at_ns: u64,
    /// Time from then to the next grant of any lock, in nanoseconds, or `None` if there was none.
    pub next_grant_ns: Option<u64>,
}

/// Returns one entry per fault with a known end, ordered by start.
pub(super) fn recoveries(timeline: &Timeline<'_>) -> Vec<Recovery> {
    let (spans, holds) = (timeline.faults().iter(), timeline.holds());
    let known = spans.filter(|span| !span.missed).filter_map(|span| {
        let ended_at_ns = if is_instantaneous(span.fault) {
            span.began_ns
        } else {
            span.ended_ns?
        };
        let next = holds.partition_point(|hold| hold.begin_ns < ended_at_ns);
        Some(Recovery {
            fault: span.fault.to_owned(),
            detail: span.detail.to_owned(),
            ended_at_ns,
            next_grant_ns: holds.get(next).map(|hold| hold.begin_ns - ended_at_ns),
        })
    });
    known.collect()
}

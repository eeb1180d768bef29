//! The activities of each worker over time: one lane per worker, for drawings.
//!
//! Requests, holds and lease deadlines come from the timeline that the checkers use, so a drawing shows the
//! basis of the verdict.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use picklock_verdicts::history::EventKind;
use picklock_verdicts::timeline::{Hold, LeaseState, Operation, OperationKind, Timeline};

/// The activities of one worker, ordered by time.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    pub(crate) segments: Vec<Segment>,
    /// The periods in which it was frozen: start, end.
    pub(crate) frozen_ns: Vec<(u64, u64)>,
    pub(crate) marks: Vec<Mark>,
}

/// A period with a single activity. Never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    pub(crate) op: u64,
    pub(crate) key: u32,
    pub(crate) activity: Activity,
}

/// An activity of a worker. `KIND_WORDS` in `assets/lanes.js` has the same order; 5 and 6 are clusters of many
/// activities (`html/timeline_data.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    /// Waits for the reply to its request.
    Waiting = 0,
    /// Holds the lock, and its lease is running.
    InLease = 1,
    /// Holds the lock, and its lease may have expired: the lock did not report enough to decide.
    PerhapsPast = 2,
    /// Holds the lock although its lease has expired.
    PastLease = 3,
    /// Releases the lock.
    Releasing = 4,
}

impl Activity {
    pub(crate) fn holds(self) -> bool {
        !matches!(self, Activity::Waiting | Activity::Releasing)
    }
}

/// An instantaneous event of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Time of the request that this event answers. For other events, equal to `at_ns`.
    pub(crate) since_ns: u64,
    pub(crate) at_ns: u64,
    pub(crate) kind: MarkKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkKind {
    Sold,
    FencedOff,
    /// A release that claimed success after its lease had ended.
    Released,
    /// The client was asked to cancel its request.
    Cancelled,
    Died,
}

/// Returns the lanes of all workers that were active or frozen, by number.
pub(crate) fn lanes(timeline: &Timeline<'_>) -> BTreeMap<usize, Lane> {
    let mut lanes: BTreeMap<usize, Lane> = BTreeMap::new();
    for (worker, frozen_ns) in timeline.frozen() {
        lanes.entry(*worker).or_default().frozen_ns = frozen_ns.clone();
    }
    let mut sent_ns = BTreeMap::new();
    for event in &timeline.history().events {
        let Some(worker) = event.what.worker() else {
            continue;
        };
        let lane = lanes.entry(worker).or_default();
        if let EventKind::Release { .. } = event.what {
            sent_ns.insert(worker, event.at_ns);
        }
        lane.marks.extend(mark(&event.what).map(|kind| Mark {
            since_ns: match kind {
                MarkKind::Released => sent_ns.remove(&worker).unwrap_or(event.at_ns),
                _ => event.at_ns,
            },
            at_ns: event.at_ns,
            kind,
        }));
    }
    for (worker, segment) in requests(timeline).chain(holding(timeline)) {
        lanes.entry(worker).or_default().segments.push(segment);
    }
    let mut holds: BTreeMap<usize, Vec<&Hold>> = BTreeMap::new();
    for hold in timeline.holds() {
        holds.entry(hold.worker).or_default().push(hold);
    }
    for (worker, lane) in &mut lanes {
        let own = holds.get(worker).map_or(&[][..], Vec::as_slice);
        lane.marks
            .retain(|mark| mark.kind != MarkKind::Released || is_late(own, mark));
        lane.segments.sort_by_key(|s| (s.from_ns, s.to_ns));
    }
    lanes
}

/// Returns `true` if the lease of the hold that `mark` released had ended before the answer. `holds` are the worker's
/// holds, in the order in which they began.
fn is_late(holds: &[&Hold], mark: &Mark) -> bool {
    let begun = holds.partition_point(|hold| hold.begin_ns <= mark.since_ns);
    let mut latest_first = holds[..begun].iter().rev();
    let hold = latest_first.find(|hold| hold.end_ns <= mark.since_ns);
    hold.is_some_and(|hold| hold.deadline_ns < mark.at_ns)
}

fn mark(what: &EventKind) -> Option<MarkKind> {
    match what {
        EventKind::StockChanged { .. } => Some(MarkKind::Sold),
        EventKind::FencedOff { .. } => Some(MarkKind::FencedOff),
        EventKind::WorkerDown { .. } => Some(MarkKind::Died),
        EventKind::Cancel { .. } => Some(MarkKind::Cancelled),
        EventKind::Released {
            released: Some(true),
            ..
        } => Some(MarkKind::Released),
        _ => None,
    }
}

/// Returns waits and releases, each with its worker.
fn requests(timeline: &Timeline<'_>) -> impl Iterator<Item = (usize, Segment)> {
    let operations = timeline.operations().iter();
    let lasting = operations.filter(|operation| operation.requested_at_ns < operation.ended_at_ns);
    lasting.map(|operation: &Operation| {
        let segment = Segment {
            from_ns: operation.requested_at_ns,
            to_ns: operation.ended_at_ns,
            op: operation.op,
            key: operation.lock,
            activity: match operation.kind {
                OperationKind::Acquire => Activity::Waiting,
                OperationKind::Release => Activity::Releasing,
            },
        };
        (operation.worker, segment)
    })
}

/// Returns holds by the state of the lease, each with its worker.
fn holding(timeline: &Timeline<'_>) -> impl Iterator<Item = (usize, Segment)> {
    timeline.holds().iter().flat_map(|hold| {
        hold.lease_phases().map(|phase| {
            let segment = Segment {
                from_ns: phase.from_ns,
                to_ns: phase.until_ns,
                op: hold.op,
                key: hold.lock,
                activity: match phase.state {
                    LeaseState::Running => Activity::InLease,
                    LeaseState::PerhapsOver => Activity::PerhapsPast,
                    LeaseState::Over => Activity::PastLease,
                },
            };
            (hold.worker, segment)
        })
    })
}

/// Returns the periods in which two or more workers hold `key`, ordered by time.
pub(crate) fn overlaps(timeline: &Timeline<'_>, key: u32) -> Vec<(u64, u64)> {
    overlaps_by_key(timeline).remove(&key).unwrap_or_default()
}

/// Returns the periods in which two or more holds of a key overlap, ordered by time, for each key that was
/// held. A hold of zero length that is strictly inside another one overlaps it, as in the checker
/// ([`overlap`](picklock_verdicts::timeline::overlap)), and yields a period of zero length.
pub(crate) fn overlaps_by_key(timeline: &Timeline<'_>) -> BTreeMap<u32, Vec<(u64, u64)>> {
    let mut spans: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    for hold in timeline.holds() {
        spans.entry(hold.lock).or_default().push(hold.span());
    }
    let overlapping = |(key, spans): (u32, Vec<(u64, u64)>)| (key, overlapping_periods(&spans));
    spans.into_iter().map(overlapping).collect()
}

fn overlapping_periods(spans: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut steps = Vec::new();
    for (begin_ns, end_ns) in spans {
        // At the same time, ends are sorted before starts, because adjacent holds do not overlap. Holds of
        // zero length come in between.
        match begin_ns.cmp(end_ns) {
            Ordering::Less => steps.extend([(*begin_ns, Move::In), (*end_ns, Move::Out)]),
            Ordering::Equal => steps.push((*begin_ns, Move::InAndOut)),
            Ordering::Greater => {}
        }
    }
    steps.sort_unstable();
    let mut overlaps = Vec::new();
    let (mut holders, mut since_ns) = (0, 0);
    for (at_ns, step) in steps {
        match step {
            Move::In => {
                holders += 1;
                if holders == 2 {
                    since_ns = at_ns;
                }
            }
            Move::Out => {
                if holders == 2 && since_ns < at_ns {
                    overlaps.push((since_ns, at_ns));
                }
                holders -= 1;
            }
            Move::InAndOut if holders == 1 && overlaps.last() != Some(&(at_ns, at_ns)) => {
                overlaps.push((at_ns, at_ns));
            }
            Move::InAndOut => {}
        }
    }
    overlaps
}

/// The effect of a hold on the number of holders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Move {
    Out,
    InAndOut,
    In,
}

#[cfg(test)]
mod tests;

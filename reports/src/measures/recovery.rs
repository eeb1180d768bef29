//! How long after a fault the lock was granted again.

use picklock_verdicts::timeline::{Timeline, strikes_once};

/// A fault that was over before the run was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// Its kind.
    pub fault: String,
    /// In words.
    pub detail: String,
    /// When it was over, nanoseconds since the run began; for one that strikes once, when it did.
    pub over_ns: u64,
    /// From then to the next grant of any lock, nanoseconds; `None` if there was none.
    pub next_grant_ns: Option<u64>,
}

/// One for each fault whose end is known, in the order in which they began.
pub(super) fn recoveries(timeline: &Timeline<'_>) -> Vec<Recovery> {
    let (spans, holds) = (timeline.faults().iter(), timeline.holds());
    let known = spans.filter_map(|span| {
        let over_ns = if strikes_once(span.fault) {
            span.began_ns
        } else {
            span.ended_ns?
        };
        let next = holds.partition_point(|hold| hold.begin_ns < over_ns);
        Some(Recovery {
            fault: span.fault.to_owned(),
            detail: span.detail.to_owned(),
            over_ns,
            next_grant_ns: holds.get(next).map(|hold| hold.begin_ns - over_ns),
        })
    });
    known.collect()
}

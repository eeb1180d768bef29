//! How long after a fault the lock was granted again.

use picklock_verdicts::timeline::{Timeline, strikes_once};

/// A fault that ended before the run did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// Its kind.
    pub fault: String,
    /// The fault in words.
    pub detail: String,
    /// When it ended, nanoseconds since the run began; for one that strikes once, when it struck.
    pub over_ns: u64,
    /// From then to the next grant of any lock, nanoseconds; `None` if there was none.
    pub next_grant_ns: Option<u64>,
}

/// One for each fault with a known end, in order of their beginnings.
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

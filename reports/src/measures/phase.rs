//! The phases of a run: healthy, during a fault, or recovering from one.

use picklock_verdicts::timeline::{Timeline, is_instantaneous};

/// The phase of a run, by its faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// No fault is active, and no fault was active within the last TTL.
    Healthy,
    /// A fault is active.
    Faulty,
    /// No fault is active, but one ended less than a TTL ago, so leases from that time may still be running.
    Recovering,
}

impl Phase {
    /// All phases in reading order.
    pub const ALL: [Phase; 3] = [Phase::Healthy, Phase::Faulty, Phase::Recovering];

    /// Returns the name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Healthy => "healthy",
            Phase::Faulty => "during faults",
            Phase::Recovering => "recovering",
        }
    }
}

/// The phases of a run. Outside of these spans the run is healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phases {
    /// When faults were active: disjoint spans ordered by time, including both ends.
    faulty_ns: Vec<(u64, u64)>,
    /// The spans after faults, in the same form. Other faults may be active in them, so [`Phases::at`] checks
    /// those first.
    after_ns: Vec<(u64, u64)>,
    end_ns: u64,
}

impl Phases {
    /// Creates the phases of a run.
    ///
    /// An instantaneous fault (a kill, an eviction) ends when it fires. A fault without an end in the history
    /// lasts until the run ends.
    pub fn from_timeline(timeline: &Timeline<'_>) -> Self {
        let end_ns = timeline.end_ns();
        let ttl_ns = timeline.history().header.ttl_ms.saturating_mul(1_000_000);
        let mut faulty_ns = Vec::new();
        let mut after_ns = Vec::new();
        for span in timeline.faults().iter().filter(|span| !span.missed) {
            let ended_at_ns = if is_instantaneous(span.fault) {
                span.began_ns
            } else {
                span.ended_ns.unwrap_or(end_ns)
            };
            faulty_ns.push((span.began_ns, ended_at_ns));
            after_ns.push((ended_at_ns, ended_at_ns.saturating_add(ttl_ns).min(end_ns)));
        }
        Phases {
            faulty_ns: merged(faulty_ns),
            after_ns: merged(after_ns),
            end_ns,
        }
    }

    /// Returns the worst phase that an operation overlaps. A fault is worse than its aftermath.
    pub fn at(&self, from_ns: u64, to_ns: u64) -> Phase {
        if meets(&self.faulty_ns, from_ns, to_ns) {
            Phase::Faulty
        } else if meets(&self.after_ns, from_ns, to_ns) {
            Phase::Recovering
        } else {
            Phase::Healthy
        }
    }

    /// Returns the duration of this phase, in nanoseconds.
    pub fn length_ns(&self, phase: Phase) -> u64 {
        let faulty_ns = total(&self.faulty_ns);
        let either = self.faulty_ns.iter().chain(&self.after_ns).copied();
        let either_ns = total(&merged(either.collect()));
        match phase {
            Phase::Faulty => faulty_ns,
            Phase::Recovering => either_ns - faulty_ns,
            Phase::Healthy => self.end_ns.saturating_sub(either_ns),
        }
    }
}

/// Merges spans that touch, and orders them by time.
pub(crate) fn merged(mut spans: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    spans.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::with_capacity(spans.len());
    for (from_ns, to_ns) in spans {
        match merged.last_mut() {
            Some(last) if from_ns <= last.1 => last.1 = last.1.max(to_ns),
            _ => merged.push((from_ns, to_ns)),
        }
    }
    merged
}

fn total(spans: &[(u64, u64)]) -> u64 {
    spans.iter().map(|(from_ns, to_ns)| to_ns - from_ns).sum()
}

/// Returns `true` if a span touches one of `spans`, which are disjoint and ordered by time.
pub(crate) fn meets(spans: &[(u64, u64)], from_ns: u64, to_ns: u64) -> bool {
    let first = spans.partition_point(|span| span.1 < from_ns);
    spans.get(first).is_some_and(|span| span.0 <= to_ns)
}

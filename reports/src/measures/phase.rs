//! The phases of a run: healthy, during a fault, or recovering from one.

use picklock_verdicts::timeline::{Timeline, is_instantaneous};

/// Whether faults were on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// No fault is active, and none was within the last ttl.
    Healthy,
    /// A fault is active.
    Faulty,
    /// A fault ended less than one ttl ago, and none is active: leases from before may still run.
    Recovering,
}

impl Phase {
    /// All phases in reading order.
    pub const ALL: [Phase; 3] = [Phase::Healthy, Phase::Faulty, Phase::Recovering];

    /// The words in reports.
    pub fn words(self) -> &'static str {
        match self {
            Phase::Healthy => "healthy",
            Phase::Faulty => "during faults",
            Phase::Recovering => "recovering",
        }
    }
}

/// When a run was in which phase. Outside of these spans it is healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phases {
    /// When faults were active: disjoint spans in order of time, ends included.
    faulty_ns: Vec<(u64, u64)>,
    /// The times after faults, likewise. Other faults may be active in them; [`Phases::of_span`]
    /// checks those first.
    after_ns: Vec<(u64, u64)>,
    end_ns: u64,
}

impl Phases {
    /// The phases of a run.
    ///
    /// A fault that strikes once (a kill, an eviction) ends at once; a fault without an end in the
    /// history lasts until the run ends.
    pub fn from_timeline(timeline: &Timeline<'_>) -> Self {
        let end_ns = timeline.end_ns();
        let ttl_ns = timeline.history().header.ttl_ms.saturating_mul(1_000_000);
        let mut faulty_ns = Vec::new();
        let mut after_ns = Vec::new();
        for span in timeline.faults().iter().filter(|span| !span.missed) {
            let ended_at_ns = match is_instantaneous(span.fault) {
                true => span.began_ns,
                false => span.ended_ns.unwrap_or(end_ns),
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

    /// The phase of an operation: the worst one that it overlaps. A fault is worse than its
    /// aftermath.
    pub fn of_span(&self, from_ns: u64, to_ns: u64) -> Phase {
        if meets(&self.faulty_ns, from_ns, to_ns) {
            Phase::Faulty
        } else if meets(&self.after_ns, from_ns, to_ns) {
            Phase::Recovering
        } else {
            Phase::Healthy
        }
    }

    /// How long the run was in this phase.
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

/// Merges spans that touch, in order of time.
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

/// True if a span of time touches one of `spans`, which are disjoint and in order of time.
pub(crate) fn meets(spans: &[(u64, u64)], from_ns: u64, to_ns: u64) -> bool {
    let first = spans.partition_point(|span| span.1 < from_ns);
    spans.get(first).is_some_and(|span| span.0 <= to_ns)
}

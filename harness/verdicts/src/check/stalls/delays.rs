//! The time that the harness lost because it was stalled, or because the injection of a fault took long.

use std::collections::BTreeMap;

use crate::history::{EventKind, History};
use crate::timeline::{Timeline, ns_from_ms};

use crate::check::stalls::harness_stall::HarnessStall;
use crate::check::stalls::stall::Stall;

/// Disjoint spans of time in order, each with the total length of those before it.
#[derive(Debug, Default)]
struct Spans(Vec<Span>);

#[derive(Debug, Clone, Copy)]
struct Span {
    from_ns: u64,
    until_ns: u64,
    before_ns: u64,
}

impl Spans {
    fn new(mut spans: Vec<(u64, u64)>) -> Self {
        spans.sort_unstable();
        let mut disjoint: Vec<Span> = Vec::with_capacity(spans.len());
        for (from_ns, until_ns) in spans {
            match disjoint.last_mut() {
                Some(last) if last.until_ns >= from_ns => {
                    last.until_ns = last.until_ns.max(until_ns);
                }
                last => {
                    let before = last.map(|last| last.before_ns + (last.until_ns - last.from_ns));
                    disjoint.push(Span {
                        from_ns,
                        until_ns,
                        before_ns: before.unwrap_or(0),
                    });
                }
            }
        }
        Spans(disjoint)
    }

    /// Returns the total length of the parts before `at_ns`.
    fn before(&self, at_ns: u64) -> u64 {
        let begun = self.0.partition_point(|span| span.from_ns < at_ns);
        match begun.checked_sub(1).and_then(|last| self.0.get(last)) {
            Some(span) => span.before_ns + (at_ns.min(span.until_ns) - span.from_ns),
            None => 0,
        }
    }

    /// Returns the total length of the parts between two times.
    fn within(&self, from_ns: u64, until_ns: u64) -> u64 {
        self.before(until_ns).saturating_sub(self.before(from_ns))
    }
}

/// Returns how long the harness, this worker or a server was stalled between two times, in nanoseconds. Overlapping
/// stalls count once.
pub(in crate::check) fn stalled_ns(
    history: &History,
    worker: usize,
    (from_ns, until_ns): (u64, u64),
) -> u64 {
    let spans = history.events.iter().filter_map(|event| {
        let stall =
            Stall::from_event(event).filter(|stall| stall.touches(worker, (from_ns, until_ns)));
        let stall = stall.map(|stall| (stall.from_ns, stall.until_ns));
        stall.or_else(|| HarnessStall::from_event(event).map(HarnessStall::span))
    });
    Spans::new(spans.collect()).within(from_ns, until_ns)
}

/// Maximum number of actions of the harness between two events of a hold: it ends a section or a freeze, writes a
/// request and reads the answer, and does the same for the stock.
const MAX_ACTIONS: usize = 6;

/// The time that the harness lost in a run.
#[derive(Debug, Default)]
pub(in crate::check) struct Delays {
    /// The stalls of the harness.
    stalls: Spans,
    /// The injections of faults for which every client may have waited.
    injections: Spans,
    /// For each worker, the injections for which it may have waited: those in `injections`, and those for which only
    /// this worker waited.
    own_injections: BTreeMap<usize, Spans>,
}

impl Delays {
    /// Returns the delays of a history, or `None` if the harness lost no time.
    pub(in crate::check) fn new(timeline: &Timeline<'_>) -> Option<Self> {
        let stalls: Vec<(u64, u64)> = (timeline.run_events().iter())
            .filter_map(|event| HarnessStall::from_event(event).map(HarnessStall::span))
            .collect();
        let mut all: Vec<(u64, u64)> = Vec::new();
        let mut own: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
        for event in timeline.run_events() {
            if let EventKind::FaultFired {
                took_ms, waiting, ..
            } = event.what
            {
                let span = (event.at_ns.saturating_sub(ns_from_ms(took_ms)), event.at_ns);
                match waiting {
                    Some(worker) => own.entry(worker).or_default().push(span),
                    None => all.push(span),
                }
            }
        }
        let with_all = |mut spans: Vec<(u64, u64)>| {
            spans.extend(&all);
            Spans::new(spans)
        };
        let own_injections: BTreeMap<usize, Spans> = (own.into_iter())
            .map(|(worker, spans)| (worker, with_all(spans)))
            .collect();
        let is_on_time = stalls.is_empty() && all.is_empty() && own_injections.is_empty();
        (!is_on_time).then(|| Delays {
            stalls: Spans::new(stalls),
            injections: Spans::new(all),
            own_injections,
        })
    }

    /// Returns how long the harness was stalled between two times.
    pub(in crate::check) fn stalled_ns(&self, from_ns: u64, until_ns: u64) -> u64 {
        self.stalls.within(from_ns, until_ns)
    }

    /// Returns how long the harness may have delayed an event, in nanoseconds. `before_ns` is the time of the previous
    /// event of the same hold.
    ///
    /// Between the two events, the harness acts at most [`MAX_ACTIONS`] times, and each action can fall into one stall.
    /// The other stalls happened during the client's work, or during a sleep that still ended on time.
    pub(in crate::check) fn late_ns(&self, before_ns: u64, event_ns: u64) -> u64 {
        self.late_outside_ns(&Spans::default(), before_ns, event_ns)
    }

    /// Like [`Self::late_ns`], without the parts of the stalls in which this worker waited for an injection anyway.
    pub(in crate::check) fn late_beside_injections_ns(
        &self,
        worker: usize,
        (before_ns, event_ns): (u64, u64),
    ) -> u64 {
        self.late_outside_ns(self.injections(worker), before_ns, event_ns)
    }

    fn late_outside_ns(&self, excluded: &Spans, before_ns: u64, event_ns: u64) -> u64 {
        let spans = &self.stalls.0;
        let first = spans.partition_point(|span| span.until_ns <= before_ns);
        let mut lengths: Vec<u64> = (spans[first..].iter())
            .take_while(|span| span.from_ns < event_ns)
            .map(|span| {
                let (from_ns, until_ns) =
                    (span.from_ns.max(before_ns), span.until_ns.min(event_ns));
                (until_ns - from_ns).saturating_sub(excluded.within(from_ns, until_ns))
            })
            .collect();
        lengths.sort_unstable_by(|one, other| other.cmp(one));
        lengths.iter().take(MAX_ACTIONS).sum()
    }

    fn injections(&self, worker: usize) -> &Spans {
        let own = self.own_injections.get(&worker);
        own.unwrap_or(&self.injections)
    }

    /// Returns how long this worker may have waited for the injection of faults between two times, in nanoseconds.
    pub(in crate::check) fn injecting_ns(
        &self,
        worker: usize,
        (from_ns, until_ns): (u64, u64),
    ) -> u64 {
        self.injections(worker).within(from_ns, until_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_spans_are_counted_once() {
        let spans = Spans::new(vec![(10, 20), (15, 30), (50, 60)]);
        assert_eq!(spans.within(0, 100), 30);
        assert_eq!(spans.within(12, 18), 6);
        assert_eq!(spans.within(25, 55), 10);
        assert_eq!(spans.within(30, 50), 0);
        assert_eq!(spans.within(60, 5), 0);
        assert_eq!(Spans::default().within(0, 9), 0);
    }

    #[test]
    fn many_short_stalls_delay_an_event_by_the_longest_few() {
        let stalls = (0..100).map(|at| (10 * at, 10 * at + 1 + at % 2)).collect();
        let delays = Delays {
            stalls: Spans::new(stalls),
            ..Delays::default()
        };
        assert_eq!(delays.late_ns(0, 1000), 2 * MAX_ACTIONS as u64);
        assert_eq!(delays.late_ns(0, 12), 3);
        assert_eq!(delays.late_ns(2, 10), 0);
    }
}

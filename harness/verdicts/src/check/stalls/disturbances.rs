//! The faults, stalls and CPU waits of a run, as excuses for errors, and for replies that a client may have missed.
//!
//! A disturbance excuses whatever overlaps it, however short it is. The effects of a fault end a moment after the
//! fault: a delayed reply still arrives, and a client waits until its own timeout ends.

use crate::history::{Event, EventKind};
use crate::timeline::{FaultSpan, Timeline, ns_from_ms};

use crate::check::stalls::harness_stall::HarnessStall;
use crate::check::stalls::stall::Stall;
use crate::check::stalls::thresholds::NOTABLE_DELAY;

/// The disturbances of a run.
#[derive(Debug, Default)]
pub(in crate::check) struct Disturbances {
    /// The faults. Any fault counts for every client, because clients may share a connection.
    faults: Spans,
    /// The stalls of the harness, of servers and of workers.
    stalls: Spans,
    /// The CPU waits of each worker.
    cpu_waits: Vec<Spans>,
}

/// Spans of time, ordered by their beginnings.
#[derive(Debug, Clone, Default)]
struct Spans {
    begins_ns: Vec<u64>,
    /// The latest end of each span and those before it.
    ends_ns: Vec<u64>,
}

impl Spans {
    fn new(mut spans: Vec<(u64, u64)>) -> Self {
        spans.sort_unstable();
        let mut latest_ns = 0;
        let end_ns = |(_, until_ns): &(u64, u64)| {
            latest_ns = latest_ns.max(*until_ns);
            latest_ns
        };
        Spans {
            ends_ns: spans.iter().map(end_ns).collect(),
            begins_ns: spans.into_iter().map(|(from_ns, _)| from_ns).collect(),
        }
    }

    /// Returns the latest end of the spans that had begun by `at_ns`, or `None` if none had.
    fn latest_end_ns(&self, at_ns: u64) -> Option<u64> {
        let begun = self
            .begins_ns
            .partition_point(|begin_ns| *begin_ns <= at_ns);
        self.ends_ns.get(begun.checked_sub(1)?).copied()
    }

    fn overlap(&self, from_ns: u64, until_ns: u64) -> bool {
        let latest_ns = self.latest_end_ns(until_ns);
        latest_ns.is_some_and(|end_ns| end_ns >= from_ns)
    }
}

impl Disturbances {
    /// Returns the disturbances of a history.
    pub(in crate::check) fn new(timeline: &Timeline<'_>) -> Self {
        let history = timeline.history();
        let tail_ns = NOTABLE_DELAY.part_of(ns_from_ms(history.header.ttl_ms));
        let effect = |fault: &FaultSpan<'_>| {
            let ended_ns = fault.ended_ns.unwrap_or(u64::MAX);
            let until_ns = ended_ns.saturating_add(fault.delay_ns.saturating_add(tail_ns));
            (fault.began_ns, until_ns)
        };
        let mut stalls = Vec::new();
        let mut cpu_waits = vec![Vec::new(); history.header.workers];
        for event in timeline.run_events() {
            stalls.extend(HarnessStall::from_event(event).map(HarnessStall::span));
            stalls.extend(Stall::from_event(event).map(|stall| (stall.from_ns, stall.until_ns)));
            if let Some((worker, since_ns)) = cpu_wait(event)
                && let Some(waits) = cpu_waits.get_mut(worker)
            {
                waits.push((since_ns, event.at_ns));
            }
        }
        Disturbances {
            faults: Spans::new(timeline.faults().iter().map(effect).collect()),
            stalls: Spans::new(stalls),
            cpu_waits: cpu_waits.into_iter().map(Spans::new).collect(),
        }
    }

    /// Returns `true` if anything may have disturbed this worker at some time in this span.
    pub(in crate::check) fn overlap(&self, worker: usize, (from_ns, until_ns): (u64, u64)) -> bool {
        let cpu_waits = self.cpu_waits.get(worker);
        let mut all = [&self.faults, &self.stalls].into_iter().chain(cpu_waits);
        all.any(|spans| spans.overlap(from_ns, until_ns))
    }

    /// Returns when the effects of all faults that had begun by `at_ns` were over, or `None` if none had begun.
    pub(in crate::check) fn last_fault_end_ns(&self, at_ns: u64) -> Option<u64> {
        self.faults.latest_end_ns(at_ns)
    }
}

/// Returns the worker that waited for a CPU, and since when. The event is recorded at the end of the wait.
fn cpu_wait(event: &Event) -> Option<(usize, u64)> {
    match event.what {
        EventKind::WorkerDelayed {
            worker, since_ns, ..
        } => Some((worker, since_ns)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_overlap_with_both_of_their_ends() {
        let spans = Spans::new(vec![(50, 60), (10, 40), (20, 30), (80, 80)]);
        for (span, expected) in [
            ((0, 9), false),
            ((0, 10), true),
            ((35, 36), true),
            ((41, 49), false),
            ((60, 70), true),
            ((61, 79), false),
            ((79, 90), true),
            ((81, 90), false),
        ] {
            assert_eq!(spans.overlap(span.0, span.1), expected, "{span:?}");
        }
    }
}

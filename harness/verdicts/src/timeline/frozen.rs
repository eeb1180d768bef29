//! When workers were frozen. A fault that a worker escaped did not freeze it.

use std::collections::BTreeMap;

use super::fault::{FaultSpan, stops_clients};
use crate::history::{EventKind, History};

/// Spans of all workers that were frozen. A freeze ends with its fault, with its worker's death, or
/// with the history; freezes that overlap or touch are one.
pub(super) fn frozen(
    history: &History,
    faults: &[FaultSpan<'_>],
) -> BTreeMap<usize, Vec<(u64, u64)>> {
    let mut frozen: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
    let pauses: Vec<_> = faults
        .iter()
        .filter(|span| stops_clients(span.fault) && span.struck())
        .collect();
    if pauses.is_empty() {
        return frozen;
    }
    let deaths = deaths(history);
    let end_ns = history.events.last().map_or(0, |event| event.at_ns);
    for pause in pauses {
        let over_ns = pause.ended_ns.unwrap_or(end_ns);
        let reached = |worker: &&usize| pause.strikes(**worker);
        for worker in pause.workers.iter().filter(reached) {
            let deaths = deaths.get(worker).map_or(&[][..], Vec::as_slice);
            let next = deaths.partition_point(|at_ns| *at_ns < pause.began_ns);
            let until_ns = deaths
                .get(next)
                .map_or(over_ns, |at_ns| over_ns.min(*at_ns));
            if pause.began_ns < until_ns {
                let spans = frozen.entry(*worker).or_default();
                match spans.last_mut() {
                    Some(last) if pause.began_ns <= last.1 => last.1 = last.1.max(until_ns),
                    _ => spans.push((pause.began_ns, until_ns)),
                }
            }
        }
    }
    frozen
}

/// When each worker died.
fn deaths(history: &History) -> BTreeMap<usize, Vec<u64>> {
    let mut deaths: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for event in &history.events {
        if let EventKind::WorkerDown { worker, .. } = event.what {
            deaths.entry(worker).or_default().push(event.at_ns);
        }
    }
    deaths
}

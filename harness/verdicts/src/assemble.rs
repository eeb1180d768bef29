//! Builds the run record from a history and its verdicts.

use std::collections::BTreeMap;

use crate::check::{Verdicts, describe_incident, min_harness_stall_ms, warnings};
use crate::history::{EndReason, Event, EventKind, History};
use crate::record::{Counts, FORMAT, FiredFault, Latency, LockInfo, Phases, Redis, RunRecord};
use crate::timeline::{Timeline, ms_from_ns};

/// The parts of the record that the history does not contain.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// Version of Picklock.
    pub picklock: String,
    /// Version of the lock.
    pub lock_version: String,
    /// The scenario's summary.
    pub summary: String,
    /// Why this backend was chosen.
    pub backend_reason: String,
    /// The servers.
    pub redis: Redis,
    /// Latencies by operation.
    pub latency: BTreeMap<String, Latency>,
    /// Durations of the phases.
    pub phases: Phases,
    /// The command that repeats the run.
    pub reproduce: String,
}

/// Builds the record of a run.
pub fn assemble(history: &History, verdicts: Verdicts, about: About) -> RunRecord {
    let header = &history.header;
    RunRecord {
        format: FORMAT.to_owned(),
        picklock: about.picklock,
        lock: LockInfo {
            name: header.lock.clone(),
            version: about.lock_version,
        },
        scenario: header.scenario.clone(),
        summary: about.summary,
        backend: header.backend,
        backend_reason: about.backend_reason,
        seed: header.seed,
        redis: about.redis,
        workers: header.workers,
        nodes: header.nodes,
        ttl_ms: header.ttl_ms,
        verdicts,
        counts: counts(history),
        latency: about.latency,
        faults: faults(history),
        warnings: warnings(history),
        trouble: trouble(history),
        phases: about.phases,
        interrupted: history.events.iter().rev().any(|event| match event.what {
            EventKind::End { reason, .. } => reason == EndReason::Interrupted,
            _ => false,
        }),
        reproduce: about.reproduce,
    }
}

/// Counts the events of a history.
pub fn counts(history: &History) -> Counts {
    let keys = i64::try_from(history.header.keys.len()).unwrap_or(i64::MAX);
    let mut counts = Counts {
        stock_start: history.header.stock_start.saturating_mul(keys),
        key_history: history.header.key_history_check,
        ..Counts::default()
    };
    let mut waiting = TimeSpent::new(history.header.workers);
    let mut holding = TimeSpent::new(history.header.workers);
    for event in &history.events {
        let at_ns = event.at_ns;
        match &event.what {
            EventKind::Acquire { worker, .. } => waiting.begin(at_ns, *worker),
            EventKind::Granted { worker, .. } => {
                waiting.end(at_ns, *worker);
                holding.begin(at_ns, *worker);
                counts.granted += 1;
            }
            EventKind::Release { worker, .. } => holding.end(at_ns, *worker),
            EventKind::Refused { worker, .. } => {
                waiting.end(at_ns, *worker);
                counts.refused += 1;
            }
            EventKind::AcquireFailed { worker, .. } => {
                waiting.end(at_ns, *worker);
                counts.failed += 1;
            }
            EventKind::WorkerDown { worker, .. } => {
                waiting.end(at_ns, *worker);
                holding.end(at_ns, *worker);
            }
            EventKind::ExtendFailed { .. } | EventKind::ReleaseFailed { .. } => counts.failed += 1,
            EventKind::Extended { .. } | EventKind::ExtendGranted { .. } => counts.extended += 1,
            EventKind::Released {
                released: Some(true),
                ..
            } => counts.released += 1,
            EventKind::CommandsSent {
                acquiring,
                holding: by_holders,
            } => {
                counts.commands = Some(*acquiring);
                counts.waited_ms = Some(waiting.end_all_ms(at_ns));
                counts.waiting_per_s = waiting.per_s(*acquiring);
                holding.end_all_ms(at_ns);
                counts.holding_per_s = by_holders.and_then(|sent| holding.per_s(sent));
            }
            EventKind::UndeclaredKey { .. } => counts.undeclared_keys += 1,
            EventKind::Arrivals { came, unserved } => {
                counts.arrived = Some(*came);
                counts.unserved = Some(*unserved);
            }
            EventKind::End {
                stock_left, sold, ..
            } => {
                counts.stock_left = sum(stock_left);
                counts.sold = sum(sold);
            }
            _ => {}
        }
    }
    counts
}

/// Total time that workers spend waiting, or holding.
struct TimeSpent {
    /// When each worker started its current period, or `None` if it is neither waiting nor holding.
    since_ns: Vec<Option<u64>>,
    spent_ns: u64,
}

impl TimeSpent {
    fn new(workers: usize) -> Self {
        TimeSpent {
            since_ns: vec![None; workers],
            spent_ns: 0,
        }
    }

    fn begin(&mut self, at_ns: u64, worker: usize) {
        self.end(at_ns, worker);
        if let Some(since_ns) = self.since_ns.get_mut(worker) {
            *since_ns = Some(at_ns);
        }
    }

    fn end(&mut self, at_ns: u64, worker: usize) {
        let since_ns = self.since_ns.get_mut(worker).and_then(Option::take);
        let spent_ns = since_ns.map_or(0, |since_ns| at_ns.saturating_sub(since_ns));
        self.spent_ns = self.spent_ns.saturating_add(spent_ns);
    }

    /// Ends the periods of all workers, and returns the total time.
    fn end_all_ms(&mut self, at_ns: u64) -> u64 {
        for worker in 0..self.since_ns.len() {
            self.end(at_ns, worker);
        }
        ms_from_ns(self.spent_ns)
    }

    /// Returns the rate of `count` events per second of the total time, or `None` if that is less than a millisecond.
    fn per_s(&self, count: u64) -> Option<u64> {
        let spent_ms = u128::from(ms_from_ns(self.spent_ns));
        let per_s = (u128::from(count) * 1000 + spent_ms / 2).checked_div(spent_ms)?;
        u64::try_from(per_s).ok()
    }
}

/// Adds up units without overflow, because a history can be untrusted.
fn sum(units: &[i64]) -> i64 {
    let add = |sum: i64, units: &i64| sum.saturating_add(*units);
    units.iter().fold(0, add)
}

/// Returns the faults that took effect, and those that could not be applied or never fired, in order of time.
fn faults(history: &History) -> Vec<FiredFault> {
    let timeline = Timeline::new(history);
    let mut spans = timeline.faults().iter();
    let fired_fault = |event: &Event| match &event.what {
        EventKind::FaultBegan { .. } => {
            let span = spans.next().filter(|span| !span.missed)?;
            Some(FiredFault {
                fault: span.fault.to_owned(),
                detail: span.detail.to_owned(),
                began_ns: Some(span.began_ns),
                ended_ns: span.ended_ns,
                workers: span.workers.to_vec(),
                nodes: span.nodes.to_vec(),
            })
        }
        EventKind::FaultMissed { fault, reason, .. } => Some(FiredFault {
            fault: fault.clone(),
            detail: format!("{fault}: {reason}"),
            ..FiredFault::default()
        }),
        _ => None,
    };
    history.events.iter().filter_map(fired_fault).collect()
}

/// Describes everything that went wrong apart from the faults. Stalls come last, because a busy machine has many of
/// them and lists may be cut. Short stalls are left out.
fn trouble(history: &History) -> Vec<String> {
    let shortest_ms = min_harness_stall_ms(&history.header);
    let describe = |event: &EventKind| match event {
        EventKind::HarnessStalled { late_ms } if *late_ms < shortest_ms => None,
        event => describe_incident(event, &history.header.keys),
    };
    let is_stall = |what: &EventKind| matches!(what, EventKind::HarnessStalled { .. });
    let events = || history.events.iter().map(|event| &event.what);
    let others = events().filter(|what| !is_stall(what));
    let stalls = events().filter(|what| is_stall(what));
    let lines = others.filter_map(describe).chain(delays(history));
    lines.chain(stalls.filter_map(describe)).collect()
}

/// Describes how long each worker waited for a CPU: one line per worker.
fn delays(history: &History) -> impl Iterator<Item = String> {
    let mut waits: BTreeMap<usize, u64> = BTreeMap::new();
    for event in &history.events {
        if let EventKind::WorkerDelayed {
            worker, waited_ms, ..
        } = event.what
        {
            let waited = waits.entry(worker).or_default();
            *waited = waited.saturating_add(waited_ms);
        }
    }
    let describe = |(worker, waited_ms)| format!("client {worker} waited {waited_ms} ms for a CPU");
    waits.into_iter().map(describe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Event, read_history};

    /// A busy machine delays workers several times a second.
    #[test]
    fn delays_of_a_worker_are_one_line() {
        let mut history =
            read_history(&include_bytes!("../tests/histories/calm.jsonl")[..]).unwrap();
        let delayed = |worker, waited_ms| EventKind::WorkerDelayed {
            worker,
            since_ns: 0,
            waited_ms,
        };
        let events = [delayed(1, 200), delayed(0, 90), delayed(1, 50)];
        history.events = events.map(|what| Event { at_ns: 1, what }).into();
        let expected = [(0, 90), (1, 250)]
            .map(|(worker, ms)| format!("client {worker} waited {ms} ms for a CPU"));
        assert_eq!(trouble(&history), expected);
    }

    /// If a list is cut, a lost node matters more than the tenth stall.
    #[test]
    fn stalls_come_after_all_other_trouble() {
        let mut history =
            read_history(&include_bytes!("../tests/histories/calm.jsonl")[..]).unwrap();
        let stalled = |late_ms| EventKind::HarnessStalled { late_ms };
        let lost = EventKind::NodeLost {
            node: 0,
            reason: "killed".into(),
        };
        let ttl_ms = history.header.ttl_ms;
        let events = [stalled(ttl_ms), lost, stalled(ttl_ms / 20), stalled(ttl_ms)];
        history.events = events.map(|what| Event { at_ns: 1, what }).into();
        let lines = trouble(&history);
        assert!(lines[0].starts_with("node 0 failed"), "{lines:?}");
        assert_eq!(lines.len(), 3);
    }
}

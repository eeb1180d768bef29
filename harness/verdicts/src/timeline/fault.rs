//! Faults: when each was active, which targets it affected, and what its kind does to a lock.

use std::collections::BTreeMap;

use picklock_scenarios::{Cause, FaultKind};

use super::nanoseconds::ns_from_ms;
use crate::history::{ClockShift, Event, EventKind, History};

/// Returns `true` if a fault stops the workers that it affects.
pub fn stops_clients(fault: &str) -> bool {
    FaultKind::named(fault).is_some_and(FaultKind::stops_clients)
}

/// Returns `true` if a fault ends the workers that it affects.
pub fn ends_clients(fault: &str) -> bool {
    FaultKind::named(fault).is_some_and(FaultKind::ends_clients)
}

/// Returns `true` if commands arrive later than they were sent while a fault is active.
pub fn holds_back(fault: &str) -> bool {
    FaultKind::named(fault).is_some_and(FaultKind::holds_back)
}

/// Returns `true` if commands arrive despite a fault, and are only late.
pub fn only_delays(fault: &str) -> bool {
    FaultKind::named(fault).is_some_and(FaultKind::only_delays)
}

/// Returns `true` if a fault affects only replicas.
pub fn affects_only_replicas(fault: &str) -> bool {
    FaultKind::named(fault).is_some_and(FaultKind::affects_only_replicas)
}

/// Returns `true` if the workers of a fault include this one. An empty list means all workers.
pub(crate) fn includes(workers: &[usize], worker: usize) -> bool {
    workers.is_empty() || workers.contains(&worker)
}

/// A fault as the history shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultSpan<'a> {
    /// Its kind, such as `pause-client`.
    pub fault: &'a str,
    /// Its description in plain words.
    pub detail: &'a str,
    /// When it began.
    pub began_ns: u64,
    /// When it ended, or `None` if it never ended.
    pub ended_ns: Option<u64>,
    /// How long it held back the data of a connection, at most. Data that it held back as it ended arrived this much
    /// later.
    pub delay_ns: u64,
    /// The workers that it affected.
    pub workers: &'a [usize],
    /// The nodes that it affected.
    pub nodes: &'a [usize],
    /// The shift that it applied to the wall clocks of its targets, if it applied one.
    pub clock: Option<ClockShift>,
    /// Whether it could not be applied: it ended at the time at which it began, and the next event gives the reason.
    pub missed: bool,
    /// The workers that the fault did not stop: they sent data while they should have been frozen or dead.
    pub breached_by: Vec<usize>,
}

/// The kind of a fault that no plan contains: the part of a Sentinel failover during which two masters serve clients.
const STALE_MASTER: &str = "stale-master";

/// Returns the cause that a fault suggests if the end of a lock's value was not observed. Returns `None` for an
/// unknown fault, and for one that makes no node lose a lock and no clock wrong.
pub fn loss_cause(fault: &str) -> Option<Cause> {
    match fault {
        STALE_MASTER => Some(Cause::LostOnFailover),
        planned => FaultKind::named(planned)?.loss_cause(),
    }
}

/// Returns `true` if a fault gives a node two masters that may both serve clients.
pub fn leaves_two_masters(fault: &str) -> bool {
    fault == STALE_MASTER
}

/// Returns `true` if a fault makes a node lose or expire keys, or a client misjudge the time. `exhaust` is not one of
/// them: a server out of memory or connections rejects commands, and evicts nothing.
pub fn breaks_leases(fault: &str) -> bool {
    loss_cause(fault).is_some()
}

/// Returns `true` if a fault sets a clock wrong, for a while or for good. Expiries that were set in the meantime stay
/// wrong.
pub fn spoils_clocks(fault: &str) -> bool {
    matches!(loss_cause(fault), Some(Cause::ClockJump | Cause::ClockSkew))
}

/// Returns `true` if a fault acts only once, and then does not excuse a lock that makes no progress. All other faults
/// excuse such a lock until the history shows their end.
pub fn is_instantaneous(fault: &str) -> bool {
    FaultKind::named(fault).is_some_and(FaultKind::is_instantaneous)
}

/// Returns `true` if a fault gives clients untrue answers. An untrue report of a lock that relied on such an answer
/// does not violate `claims`.
pub fn answers_falsely(fault: &str) -> bool {
    FaultKind::named(fault).is_some_and(FaultKind::answers_falsely)
}

/// Returns all faults of a history, in the order in which they began.
pub(super) fn fault_spans(history: &History) -> Vec<FaultSpan<'_>> {
    let mut spans: Vec<FaultSpan<'_>> = Vec::new();
    let mut ids = Vec::new();
    let mut just_ended: Option<usize> = None;
    for event in &history.events {
        match &event.what {
            EventKind::FaultBegan {
                id,
                fault,
                detail,
                workers,
                nodes,
                clock,
                delay_ms,
            } => {
                ids.push(*id);
                spans.push(FaultSpan {
                    fault,
                    detail,
                    began_ns: event.at_ns,
                    ended_ns: None,
                    delay_ns: ns_from_ms(delay_ms.unwrap_or(0)),
                    workers,
                    nodes,
                    clock: *clock,
                    missed: false,
                    breached_by: Vec::new(),
                });
            }
            EventKind::FaultEnded { id } => {
                just_ended = ids.iter().rposition(|known| known == id);
                if let Some(index) = just_ended {
                    spans[index].ended_ns = Some(event.at_ns);
                }
                continue;
            }
            EventKind::FreezeBreach { id, worker, .. } => {
                if let Some(index) = ids.iter().rposition(|known| known == id) {
                    spans[index].breached_by.push(*worker);
                }
            }
            EventKind::FaultMissed { fault, .. } => {
                if let Some(index) = just_ended.filter(|index| spans[*index].fault == fault) {
                    spans[index].missed = true;
                }
            }
            _ => {}
        }
        just_ended = None;
    }
    spans
}

impl FaultSpan<'_> {
    /// Returns `true` if the fault was active at any time in `from_ns..=to_ns`. A fault without a recorded end never
    /// ended.
    pub fn touches(&self, from_ns: u64, to_ns: u64) -> bool {
        let until_ns = self.ended_ns.unwrap_or(u64::MAX);
        self.began_ns <= to_ns && until_ns >= from_ns
    }

    /// Like `touches`, until the last data that the fault held back has arrived.
    pub fn may_hold_data(&self, from_ns: u64, to_ns: u64) -> bool {
        self.touches(from_ns.saturating_sub(self.delay_ns), to_ns)
    }

    /// Returns `true` if the fault could delay this worker: it took effect, and either names this worker or names no
    /// workers at all.
    pub fn affects(&self, worker: usize) -> bool {
        includes(self.workers, worker) && self.took_effect() && !self.breached_by.contains(&worker)
    }

    /// Returns `true` if the fault froze this worker.
    pub fn freezes(&self, worker: usize) -> bool {
        stops_clients(self.fault) && self.affects(worker)
    }

    /// Returns `true` if the fault took effect: it was applied, and stopped at least one of its workers, if it names
    /// any.
    pub fn took_effect(&self) -> bool {
        let reached = |worker: &usize| !self.breached_by.contains(worker);
        !self.missed && (self.workers.is_empty() || self.workers.iter().any(reached))
    }
}

/// Returns the spans in which each worker was frozen. A freeze ends with its fault, with its worker's death, or with
/// the history. Freezes that overlap or touch are merged. If a worker breached a fault, the fault did not freeze that
/// worker.
pub(super) fn frozen(
    history: &History,
    faults: &[FaultSpan<'_>],
) -> BTreeMap<usize, Vec<(u64, u64)>> {
    let mut frozen: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
    let end_ns = history.events.last().map_or(0, |event| event.at_ns);
    for pause in faults.iter().filter(|span| stops_clients(span.fault)) {
        let ended_at_ns = pause.ended_ns.unwrap_or(end_ns);
        let is_earlier = |event: &Event| event.at_ns < pause.began_ns;
        let later = &history.events[history.events.partition_point(is_earlier)..];
        let mut died_ns = BTreeMap::new();
        for event in later.iter().take_while(|event| event.at_ns < ended_at_ns) {
            if let EventKind::WorkerDown { worker, .. } = event.what {
                died_ns.entry(worker).or_insert(event.at_ns);
            }
        }
        let reached = |worker: &&usize| pause.affects(**worker);
        for worker in pause.workers.iter().filter(reached) {
            let until_ns = died_ns.get(worker).copied().unwrap_or(ended_at_ns);
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

//! Faults: when each was on, whom it struck, and what its kind does to a lock.

use std::collections::BTreeMap;

use picklock_scenarios::{Cause, FaultKind};

use crate::history::{ClockShift, Event, EventKind, History};

/// True for faults while which the workers that they strike stand still.
pub(super) fn stops_clients(fault: &str) -> bool {
    FaultKind::named(fault).is_some_and(FaultKind::stops_clients)
}

/// A fault as the history tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultSpan<'a> {
    /// Its kind: `pause-client`.
    pub fault: &'a str,
    /// In words.
    pub detail: &'a str,
    /// When it began.
    pub began_ns: u64,
    /// When it ended; `None`: it never did.
    pub ended_ns: Option<u64>,
    /// The workers that it struck.
    pub workers: &'a [usize],
    /// The nodes that it struck.
    pub nodes: &'a [usize],
    /// What it does to the wall clocks of those that it strikes, if the history says so.
    pub clock: Option<ClockShift>,
    /// True if it could not be applied: it ended where it began, and the next event says why.
    pub missed: bool,
    /// The workers that it did not reach: something came from them while they were frozen or dead.
    pub escaped: Vec<usize>,
}

/// No plan has this one: it is the part of a failover by Sentinels in which two masters serve.
const STALE_MASTER: &str = "stale-master";

/// The cause that a fault suggests where nobody saw what became of a lock. `None`: it takes none away,
/// or it is a fault that is not known here.
pub fn loses(fault: &str) -> Option<Cause> {
    match fault {
        STALE_MASTER => Some(Cause::LostOnFailover),
        planned => FaultKind::named(planned)?.loses(),
    }
}

/// True for faults while which a node has two masters, and each may serve clients.
pub fn leaves_two_masters(fault: &str) -> bool {
    fault == STALE_MASTER
}

/// True for faults that make a node forget, or expire, what it was told, or a client misjudge the
/// time. One that has run out of memory or connections refuses (`exhaust` evicts nothing), and so
/// holds its clients up.
pub fn forgets(fault: &str) -> bool {
    loses(fault).is_some()
}

/// True for faults after which some clock is wrong, and stays so.
pub fn spoils_clocks(fault: &str) -> bool {
    matches!(loses(fault), Some(Cause::ClockJump | Cause::ClockSkew))
}

/// True for faults that strike once: what follows is up to the lock. All others go on, and excuse
/// a lock that stands still, until the history says that they are over.
pub fn is_instantaneous(fault: &str) -> bool {
    FaultKind::named(fault).is_some_and(FaultKind::is_instantaneous)
}

/// True for faults that tell clients untruths: a lock that believes them is not held to what it says.
pub fn lies(fault: &str) -> bool {
    FaultKind::named(fault).is_some_and(FaultKind::lies)
}

/// All faults of a history, in the order in which they began.
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
                ..
            } => {
                ids.push(*id);
                spans.push(FaultSpan {
                    fault,
                    detail,
                    began_ns: event.at_ns,
                    ended_ns: None,
                    workers,
                    nodes,
                    clock: *clock,
                    missed: false,
                    escaped: Vec::new(),
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
                    spans[index].escaped.push(*worker);
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
    /// True when it was on at some moment of `from_ns..=to_ns`. A fault without an end never ended.
    pub fn touches(&self, from_ns: u64, to_ns: u64) -> bool {
        let until_ns = self.ended_ns.unwrap_or(u64::MAX);
        self.began_ns <= to_ns && until_ns >= from_ns
    }

    /// True when it could hold up this worker: it struck, and names the worker or none.
    pub fn affects(&self, worker: usize) -> bool {
        let named = self.workers.is_empty() || self.workers.contains(&worker);
        named && self.struck() && !self.escaped.contains(&worker)
    }

    /// True when it froze this worker.
    pub fn freezes(&self, worker: usize) -> bool {
        stops_clients(self.fault) && self.affects(worker)
    }

    /// True when it struck at all: it could be applied, and reached one of its workers.
    pub fn struck(&self) -> bool {
        let reached = |worker: &usize| !self.escaped.contains(worker);
        !self.missed && (self.workers.is_empty() || self.workers.iter().any(reached))
    }
}

/// Spans of all workers that were frozen. A freeze ends with its fault, with its worker's death, or with the history;
/// freezes that overlap or touch are one. A fault that a worker escaped did not freeze it.
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

//! Faults: when each was on, whom it struck, and what its kind does to a lock.

use crate::history::{ClockShift, History, What};

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
}

/// True for faults that make a node forget, or expire, what it was told. One that has run out of
/// memory or connections refuses (`exhaust` evicts nothing), and so holds its clients up.
pub fn forgets(fault: &str) -> bool {
    matches!(
        fault,
        "failover" | "stale-master" | "crash-node" | "evict" | "flush-all"
    ) || spoils_clocks(fault)
}

/// True for faults after which some clock is wrong, and stays so.
pub fn spoils_clocks(fault: &str) -> bool {
    matches!(fault, "clock-jump" | "clock-skew")
}

/// True for faults that strike once: what follows is up to the lock. All others go on, and excuse
/// a lock that stands still, until the history says that they are over.
pub fn strikes_once(fault: &str) -> bool {
    matches!(
        fault,
        "crash-client" | "cut" | "evict" | "flush-all" | "flush-scripts" | "clock-jump"
    )
}

/// All faults of a history, in the order in which they began.
pub(super) fn fault_spans(history: &History) -> Vec<FaultSpan<'_>> {
    let mut spans: Vec<FaultSpan<'_>> = Vec::new();
    let mut ids = Vec::new();
    let mut just_ended: Option<usize> = None;
    for event in &history.events {
        match &event.what {
            What::FaultBegan {
                id,
                fault,
                detail,
                workers,
                nodes,
                clock,
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
                });
            }
            What::FaultEnded { id } => {
                just_ended = ids.iter().rposition(|known| known == id);
                if let Some(index) = just_ended {
                    spans[index].ended_ns = Some(event.at_ns);
                }
                continue;
            }
            What::FaultMissed { fault, .. } => {
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

    /// True when it could hold up this worker: it names it, or names no worker.
    pub fn strikes(&self, worker: usize) -> bool {
        self.workers.is_empty() || self.workers.contains(&worker)
    }
}

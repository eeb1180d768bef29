//! Which workers can reach what their lock needs.
//!
//! A lock on one node needs that node. A lock on several nodes needs a majority of them, unless the
//! header says otherwise. While a fault is on, it takes its nodes away from its workers: all nodes if
//! it names none, and all workers, the client that probes after the run included, if it names none.
//! A worker that has no fault of its own, and reaches enough nodes, has all that its lock needs,
//! however long the faults of others last.
//!
//! Faults that strike once take nothing away for longer than that moment.

use crate::history::{Header, What};
use crate::timeline::strikes_once;

/// A fault that is on.
#[derive(Debug, Clone)]
struct Obstacle {
    id: u32,
    workers: Vec<usize>,
    nodes: Vec<usize>,
}

/// The faults that are on, and what they leave.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    nodes: usize,
    quorum: usize,
    obstacles: Vec<Obstacle>,
    /// When a fault last began or ended.
    changed_ns: Option<u64>,
}

impl Reach {
    pub(super) fn new(header: &Header) -> Self {
        let majority = header.nodes / 2 + 1;
        Reach {
            nodes: header.nodes,
            quorum: header.quorum.unwrap_or(majority),
            obstacles: Vec::new(),
            changed_ns: None,
        }
    }

    /// An event of the history. True if a fault began or ended.
    pub(super) fn event(&mut self, at_ns: u64, what: &What) -> bool {
        match what {
            What::FaultBegan {
                id,
                fault,
                workers,
                nodes,
                ..
            } => {
                if !strikes_once(fault) {
                    self.obstacles.push(Obstacle {
                        id: *id,
                        workers: workers.clone(),
                        nodes: nodes.clone(),
                    });
                }
            }
            What::FaultEnded { id } => self.obstacles.retain(|fault| fault.id != *id),
            _ => return false,
        }
        self.changed_ns = Some(at_ns);
        true
    }

    /// True if the worker reaches enough nodes for its lock.
    pub(super) fn has_quorum(&self, worker: usize) -> bool {
        if self.obstacles.is_empty() {
            return true;
        }
        let mut reached = vec![true; self.nodes];
        for fault in &self.obstacles {
            if !fault.workers.is_empty() && !fault.workers.contains(&worker) {
                continue;
            }
            if fault.nodes.is_empty() {
                return false;
            }
            for node in &fault.nodes {
                if let Some(reached) = reached.get_mut(*node) {
                    *reached = false;
                }
            }
        }
        reached.iter().filter(|reached| **reached).count() >= self.quorum
    }

    /// True if the worker has reached enough nodes ever since then.
    pub(super) fn had_quorum_since(&self, worker: usize, since_ns: u64) -> bool {
        let unchanged = self.changed_ns.is_none_or(|changed| changed < since_ns);
        unchanged && self.has_quorum(worker)
    }
}

//! Tracks which workers can reach the nodes that their lock needs.
//!
//! A lock on one node needs that node. A lock on several nodes needs a majority of them, unless the header specifies a
//! quorum. The key history shows which nodes the lock uses. A lock that uses only one of several nodes needs only that
//! node. As long as no grant has shown this, the lock is assumed to need a majority of all nodes and a majority of the
//! nodes that it has used, or all nodes if it has used none.
//!
//! An active fault takes its nodes away from its workers. A fault without nodes takes away all of them, and one without
//! workers affects all of them, including the client that probes after the run. A worker that no fault affects, and
//! that reaches enough nodes, has all that its lock needs, however long faults of other workers last.
//!
//! Instantaneous faults and wrong clocks keep nothing away. A node whose replicas are cut off can be reached, but a
//! lock may need the replicas. If a request that was sent while they were cut off is granted, the lock does not need
//! them.

use crate::history::{EventKind, Header};
use crate::key_history::{KeyUpdate, NodesUsed};
use crate::timeline::{
    Attempt, Step, affects_only_replicas, includes, is_instantaneous, only_delays, spoils_clocks,
    stops_clients,
};

use crate::check::stalls::thresholds::NOTABLE_DELAY;

/// An active fault that takes nodes away.
#[derive(Debug, Clone)]
struct Obstacle {
    id: u32,
    workers: Vec<usize>,
    nodes: Vec<usize>,
    only_delays: bool,
    /// When the fault began, if it affects only replicas, and `None` otherwise.
    only_replicas_ns: Option<u64>,
    /// When the fault began, if it stops its workers, and `None` otherwise.
    stopped_ns: Option<u64>,
}

impl Obstacle {
    fn affects(&self, worker: usize) -> bool {
        includes(&self.workers, worker)
    }
}

/// The active faults, and the nodes that they leave in reach.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct Reach {
    nodes: usize,
    quorum: usize,
    /// The longest delay with which a node still counts as reachable, in milliseconds.
    max_short_delay_ms: u64,
    /// The nodes that the locks use, if there is a key history.
    used: Option<NodesUsed>,
    obstacles: Vec<Obstacle>,
    /// When a fault last began or ended.
    changed_ns: Option<u64>,
}

impl Reach {
    pub(in crate::check) fn new(header: &Header) -> Self {
        let majority = header.nodes / 2 + 1;
        Reach {
            nodes: header.nodes,
            quorum: header.quorum.unwrap_or(majority),
            max_short_delay_ms: NOTABLE_DELAY.part_of(header.ttl_ms),
            used: header.key_history.then(|| NodesUsed::new(header.nodes)),
            obstacles: Vec::new(),
            changed_ns: None,
        }
    }

    pub(in crate::check) fn key_changed(&mut self, update: &KeyUpdate<'_>) {
        if let Some(used) = &mut self.used {
            used.key_changed(update);
        }
    }

    pub(in crate::check) fn step(&mut self, attempt: &Attempt, step: Step) {
        if let Some(used) = &mut self.used {
            used.step(attempt, step);
        }
        if step == Step::Begun {
            let is_harmless = |began_ns: u64| began_ns <= attempt.acquire_ns;
            self.obstacles
                .retain(|fault| !fault.only_replicas_ns.is_some_and(is_harmless));
        }
    }

    /// Handles the beginning or the end of a fault.
    pub(in crate::check) fn event(&mut self, at_ns: u64, what: &EventKind) {
        match what {
            EventKind::FaultBegan {
                id,
                fault,
                workers,
                nodes,
                delay_ms,
                ..
            } => {
                let is_short = delay_ms.is_some_and(|delay_ms| delay_ms <= self.max_short_delay_ms);
                if !is_instantaneous(fault) && !is_short && !spoils_clocks(fault) {
                    self.obstacles.push(Obstacle {
                        id: *id,
                        workers: workers.clone(),
                        nodes: nodes.clone(),
                        only_delays: only_delays(fault),
                        only_replicas_ns: affects_only_replicas(fault).then_some(at_ns),
                        stopped_ns: stops_clients(fault).then_some(at_ns),
                    });
                }
            }
            EventKind::FaultEnded { id } => self.obstacles.retain(|fault| fault.id != *id),
            _ => return,
        }
        self.changed_ns = Some(at_ns);
    }

    /// Returns `true` while an active fault takes nodes away.
    pub(in crate::check) fn is_obstructed(&self) -> bool {
        !self.obstacles.is_empty()
    }

    /// Returns since when an active fault has stopped this worker, or `None` if no such fault is active.
    pub(in crate::check) fn stopped_since_ns(&self, worker: usize) -> Option<u64> {
        let stops = self.obstacles.iter().filter(|fault| fault.affects(worker));
        stops.filter_map(|fault| fault.stopped_ns).min()
    }

    /// Returns `true` if the worker reaches enough nodes for this lock.
    pub(in crate::check) fn has_quorum(&self, worker: usize, lock: u32) -> bool {
        if self.obstacles.is_empty() {
            return true;
        }
        let mut free = vec![true; self.nodes];
        for fault in self.obstacles.iter().filter(|fault| fault.affects(worker)) {
            if fault.nodes.is_empty() {
                return false;
            }
            for node in &fault.nodes {
                if let Some(free) = free.get_mut(*node) {
                    *free = false;
                }
            }
        }
        self.suffices(&free, lock)
    }

    /// Returns `true` if no client can get this lock while these nodes are blocked.
    pub(in crate::check) fn is_taken_away_by(&self, nodes: &[usize], lock: u32) -> bool {
        let free = (0..self.nodes).map(|node| !nodes.contains(&node));
        !self.suffices(&free.collect::<Vec<bool>>(), lock)
    }

    /// Returns `true` if the nodes that are `true` in `free` suffice to get this lock.
    fn suffices(&self, free: &[bool], lock: u32) -> bool {
        let is_free = |node: &usize| free.get(*node) == Some(&true);
        let count = free.iter().filter(|free| **free).count();
        let Some(used) = &self.used else {
            return count >= self.quorum;
        };
        if let Some(node) = used.only_node(lock) {
            return is_free(&node);
        }
        let touched = used.touched(lock);
        if touched.is_empty() {
            return count >= self.nodes;
        }
        let free_and_touched = touched.iter().filter(|node| is_free(node)).count();
        count >= self.quorum && free_and_touched > touched.len() / 2
    }

    /// Returns `true` if commands of the worker may still reach nodes although a fault keeps it from what this lock
    /// needs.
    pub(in crate::check) fn may_be_late(&self, worker: usize, lock: u32) -> bool {
        let mut faults = self.obstacles.iter();
        let is_delayed = faults.any(|fault| fault.only_delays && fault.affects(worker));
        is_delayed && !self.has_quorum(worker, lock)
    }

    /// Returns `true` if the worker has reached enough nodes at all times since `since_ns`.
    pub(in crate::check) fn had_quorum_since(
        &self,
        worker: usize,
        lock: u32,
        since_ns: u64,
    ) -> bool {
        let is_unchanged = self
            .changed_ns
            .is_none_or(|changed_ns| changed_ns < since_ns);
        is_unchanged && self.has_quorum(worker, lock)
    }
}

//! Which workers can reach what their lock needs.
//!
//! A lock on one node needs that node. A lock on several nodes needs a majority of them, unless the
//! header says otherwise. Which nodes it uses the key history says: a program that knows one of several
//! needs that one. As long as no grant has shown that, it needs a majority of all nodes and of those that
//! it has used, and all of them if it has used none. While a fault is on, it takes its nodes away from
//! its workers: all nodes if it names none, and all workers, the client that probes after the run
//! included, if it names none.
//! A worker that has no fault of its own, and reaches enough nodes, has all that its lock needs,
//! however long the faults of others last.
//!
//! Faults that strike once take nothing away for longer than that moment. A node whose replicas are cut
//! off is in reach; but a lock may need the replicas. One that is granted to somebody who asked
//! meanwhile shows that it does not.

use crate::history::{EventKind, Header};
use crate::key_history::{KeyUpdate, NodesUsed};
use crate::timeline::{Attempt, Step, is_instantaneous};

/// A fault that is on.
#[derive(Debug, Clone)]
struct Obstacle {
    id: u32,
    workers: Vec<usize>,
    nodes: Vec<usize>,
    /// It lets commands pass, later.
    delays: bool,
    /// Since when only replicas are cut off; `None`: the nodes are, too.
    replicas_cut_ns: Option<u64>,
}

impl Obstacle {
    fn affects(&self, worker: usize) -> bool {
        self.workers.is_empty() || self.workers.contains(&worker)
    }
}

/// The faults that are on, and what they leave.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct Reach {
    nodes: usize,
    quorum: usize,
    /// A delay that takes nothing away, milliseconds.
    short_delay_ms: u64,
    /// Which nodes the locks use, if there is key history.
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
            short_delay_ms: header.ttl_ms / 10,
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
            let needless = |cut_ns: u64| cut_ns <= attempt.acquire_ns;
            self.obstacles
                .retain(|fault| !fault.replicas_cut_ns.is_some_and(needless));
        }
    }

    /// A fault began or ended.
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
                // What arrives a little later arrives.
                let is_short = delay_ms.is_some_and(|delay_ms| delay_ms <= self.short_delay_ms);
                if !is_instantaneous(fault) && !is_short {
                    self.obstacles.push(Obstacle {
                        id: *id,
                        workers: workers.clone(),
                        nodes: nodes.clone(),
                        delays: fault == "delay",
                        replicas_cut_ns: (fault == "cut-replication").then_some(at_ns),
                    });
                }
            }
            EventKind::FaultEnded { id } => self.obstacles.retain(|fault| fault.id != *id),
            _ => return,
        }
        self.changed_ns = Some(at_ns);
    }

    /// True while a fault is on that takes something away.
    pub(in crate::check) fn is_obstructed(&self) -> bool {
        !self.obstacles.is_empty()
    }

    /// True if the worker reaches enough nodes for this lock.
    pub(in crate::check) fn has_quorum(&self, worker: usize, lock: u32) -> bool {
        if self.obstacles.is_empty() {
            return true;
        }
        let mut free = vec![true; self.nodes];
        for fault in self.obstacles.iter().filter(|it| it.affects(worker)) {
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

    /// True if nobody can have this lock while these nodes are taken.
    pub(in crate::check) fn is_taken_away_by(&self, nodes: &[usize], lock: u32) -> bool {
        let free = (0..self.nodes).map(|node| !nodes.contains(&node));
        !self.suffices(&free.collect::<Vec<bool>>(), lock)
    }

    /// True if somebody who reaches the nodes that are free can have this lock.
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
        let some = touched.iter().filter(|node| is_free(node)).count();
        count >= self.quorum && some > touched.len() / 2
    }

    /// True if commands that the worker has sent may still reach nodes while a fault is on that keeps it
    /// from what this lock needs.
    pub(in crate::check) fn may_be_late(&self, worker: usize, lock: u32) -> bool {
        let mut faults = self.obstacles.iter();
        let delayed = faults.any(|fault| fault.delays && fault.affects(worker));
        delayed && !self.has_quorum(worker, lock)
    }

    /// True if the worker has reached enough nodes ever since then.
    pub(in crate::check) fn had_quorum_since(
        &self,
        worker: usize,
        lock: u32,
        since_ns: u64,
    ) -> bool {
        let unchanged = self.changed_ns.is_none_or(|changed| changed < since_ns);
        unchanged && self.has_quorum(worker, lock)
    }
}

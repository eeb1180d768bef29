//! The nodes that a lock actually uses according to its commands, however many nodes it was given.
//!
//! A program that supports one server may be given several. All its grants then rest on one node, so it needs only that
//! node. The node may depend on the lock's name, so each lock is examined separately. Only grants count, because a lock
//! that needs a majority and reaches only one node is not granted.

use std::collections::BTreeMap;

use picklock_scenarios::Phase;

use crate::timeline::{Attempt, Step, UnderWay};

use super::key_table::KeyUpdate;

/// The nodes that each lock uses.
#[derive(Debug, Clone)]
pub struct NodesUsed {
    /// Number of nodes.
    nodes: usize,
    /// The nodes of each lock. A lock is given by its position in the header.
    locks: BTreeMap<u32, LockNodes>,
    /// The lock of each attempt, and the nodes on which the attempt has changed a key in order to acquire.
    under_way: UnderWay<(u32, Vec<usize>)>,
}

#[derive(Debug, Clone, Default)]
struct LockNodes {
    /// The nodes on which any attempt has changed a key.
    touched: Vec<usize>,
    granted: Granted,
}

/// The nodes on which the grants of a lock rested.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Granted {
    /// No grant has changed a key yet.
    #[default]
    Never,
    /// All grants rested on this node.
    On(usize),
    /// Some grant rested on several nodes, or grants rested on different nodes.
    OnSeveral,
}

impl NodesUsed {
    /// Creates the record for a run with this number of nodes.
    pub fn new(nodes: usize) -> Self {
        NodesUsed {
            nodes: nodes.max(1),
            locks: BTreeMap::new(),
            under_way: UnderWay::default(),
        }
    }

    /// Records a key change.
    pub fn key_changed(&mut self, update: &KeyUpdate<'_>) {
        if let Some(command) = update.command()
            && command.phase == Phase::Acquire
            && let Some((lock, touched)) = self.under_way.get_mut(command.op)
            && !touched.contains(&update.node)
        {
            touched.push(update.node);
            // An attempt that never ends still shows its nodes.
            let lock = self.locks.entry(*lock).or_default();
            if !lock.touched.contains(&update.node) {
                lock.touched.push(update.node);
            }
        }
    }

    /// Processes a step of an attempt.
    pub fn step(&mut self, attempt: &Attempt, step: Step) {
        if step == Step::Requested {
            // Enough capacity for the nodes of most locks.
            let touched = Vec::with_capacity(8);
            self.under_way.begin(attempt.op, (attempt.lock, touched));
        }
        // The attempt was answered, or its worker died.
        if matches!(step, Step::Begun | Step::Denied(_) | Step::Gone)
            && let Some((_, touched)) = self.under_way.end(attempt.op)
        {
            if step != Step::Begun {
                return;
            }
            let lock = self.locks.entry(attempt.lock).or_default();
            lock.granted = match (lock.granted, touched.as_slice()) {
                (before, []) => before,
                (Granted::Never, [node]) => Granted::On(*node),
                (Granted::On(before), [node]) if before == *node => Granted::On(before),
                _ => Granted::OnSeveral,
            };
        }
    }

    /// Returns the only node on which all grants of this lock have rested, or `None` if there are several or none.
    pub fn only_node(&self, lock: u32) -> Option<usize> {
        match self.locks.get(&lock)?.granted {
            Granted::On(node) => Some(node),
            _ => None,
        }
    }

    /// Returns the nodes on which attempts to acquire this lock have changed a key.
    pub fn touched(&self, lock: u32) -> &[usize] {
        let lock = self.locks.get(&lock);
        lock.map_or(&[], |lock| lock.touched.as_slice())
    }

    /// Returns how many nodes a grant of this lock must rest on: a majority, or the only node that it uses.
    pub fn quorum(&self, lock: u32) -> usize {
        (self.only_node(lock)).map_or(self.nodes / 2 + 1, |_| 1)
    }
}

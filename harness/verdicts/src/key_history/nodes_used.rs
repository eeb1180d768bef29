//! Which nodes a lock uses: what its commands show, whatever it was given.
//!
//! A program that knows one server may be given several. All its grants then rest on one node, and that
//! is all that it needs. Which one may depend on the lock's name, so each lock is looked at by itself.
//! Only grants count: a lock that asks for a majority, and reaches one node, is not granted.

use std::collections::BTreeMap;

use picklock_scenarios::Phase;

use crate::timeline::{Attempt, Step, UnderWay};

use super::key_table::KeyUpdate;

/// Which nodes a lock uses.
#[derive(Debug, Clone)]
pub struct NodesUsed {
    /// How many nodes there are.
    nodes: usize,
    /// For each lock, by its position in the header.
    locks: BTreeMap<u32, LockNodes>,
    /// Of each attempt its lock, and the nodes on which it has changed a key in order to take it.
    under_way: UnderWay<(u32, Vec<usize>)>,
}

/// The nodes of one lock.
#[derive(Debug, Clone, Default)]
struct LockNodes {
    /// Those on which any attempt has changed a key.
    touched: Vec<usize>,
    granted: Granted,
}

/// What the grants of a lock rested on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Granted {
    /// There was none yet, or none that changed a key.
    #[default]
    Never,
    /// All of them on this node.
    On(usize),
    /// On several.
    OnSeveral,
}

impl NodesUsed {
    /// For a run with so many nodes.
    pub fn new(nodes: usize) -> Self {
        NodesUsed {
            nodes: nodes.max(1),
            locks: BTreeMap::new(),
            under_way: UnderWay::default(),
        }
    }

    /// A key was changed.
    pub fn key_changed(&mut self, update: &KeyUpdate<'_>) {
        if let Some(command) = update.command()
            && command.phase == Phase::Acquire
            && let Some((lock, touched)) = self.under_way.get_mut(command.op)
            && !touched.contains(&update.node)
        {
            touched.push(update.node);
            // An attempt that never ends has shown its nodes, too.
            let lock = self.locks.entry(*lock).or_default();
            if !lock.touched.contains(&update.node) {
                lock.touched.push(update.node);
            }
        }
    }

    /// An attempt made a step.
    pub fn step(&mut self, attempt: &Attempt, step: Step) {
        if step == Step::Asked {
            // More nodes than most locks have.
            let touched = Vec::with_capacity(8);
            self.under_way.begin(attempt.op, (attempt.key, touched));
        }
        // The attempt has its answer, or will never have one.
        if matches!(step, Step::Begun | Step::Denied(_) | Step::Gone)
            && let Some((_, touched)) = self.under_way.end(attempt.op)
        {
            if step != Step::Begun {
                return;
            }
            let lock = self.locks.entry(attempt.key).or_default();
            lock.granted = match (lock.granted, touched.as_slice()) {
                (before, []) => before,
                (Granted::Never, [node]) => Granted::On(*node),
                (Granted::On(before), [node]) if before == *node => Granted::On(before),
                _ => Granted::OnSeveral,
            };
        }
    }

    /// The only node that grants of this lock rested on so far; `None`: several, or none is known.
    pub fn only_node(&self, lock: u32) -> Option<usize> {
        match self.locks.get(&lock)?.granted {
            Granted::On(node) => Some(node),
            _ => None,
        }
    }

    /// The nodes on which attempts to take this lock have changed a key so far.
    pub fn touched(&self, lock: u32) -> &[usize] {
        let lock = self.locks.get(&lock);
        lock.map_or(&[], |lock| lock.touched.as_slice())
    }

    /// How many nodes a grant of this lock must rest on: a majority, or the only one that it uses.
    pub fn quorum(&self, lock: u32) -> usize {
        (self.only_node(lock)).map_or(self.nodes / 2 + 1, |_| 1)
    }
}

//! Times of the last commands that name a lock's key, for the latest attempts of one worker.

use std::collections::VecDeque;

use picklock_scenarios::Phase;

/// Maximum number of attempts whose last commands are kept.
const MAX_ATTEMPTS: usize = 1024;

/// A kind of command: its phase, key and node. Only the last command of each kind is kept.
pub(crate) type KindOfCommand = (Phase, u32, usize);

/// For each attempt, in order, the time of its last command of each kind, in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct LastCommands(VecDeque<(u64, Vec<(KindOfCommand, u64)>)>);

impl LastCommands {
    /// Records a command of an attempt. `capacity` is the expected number of kinds in a new attempt.
    pub(crate) fn record(&mut self, op: u64, kind: KindOfCommand, at_ns: u64, capacity: usize) {
        let last = self.attempt(op, capacity);
        match last.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, known_ns)) => *known_ns = at_ns.max(*known_ns),
            None => last.push((kind, at_ns)),
        }
        if self.0.len() > MAX_ATTEMPTS {
            self.0.pop_front();
        }
    }

    fn attempt(&mut self, op: u64, capacity: usize) -> &mut Vec<(KindOfCommand, u64)> {
        // Search from the end, because the attempt is nearly always the latest one.
        let later = self.0.iter().rev().take_while(|(other, _)| *other > op);
        let mut index = self.0.len() - later.count();
        if index > 0 && self.0[index - 1].0 == op {
            index -= 1;
        } else {
            self.0.insert(index, (op, Vec::with_capacity(capacity)));
        }
        &mut self.0[index].1
    }

    /// Returns the time of the last command of this attempt and phase that names the key. With several nodes, returns
    /// the earliest of their last commands, because a quorum may have released the lock while the command to another
    /// node was still in transit.
    pub(crate) fn last_ns(&self, op: u64, phase: Phase, key: u32) -> Option<u64> {
        let index = self.0.binary_search_by_key(&op, |(op, _)| *op).ok()?;
        let last = self.0[index].1.iter();
        let matching = last.filter(|(kind, _)| (kind.0, kind.1) == (phase, key));
        matching.map(|(_, at_ns)| *at_ns).min()
    }
}

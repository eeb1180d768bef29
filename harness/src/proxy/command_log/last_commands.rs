//! When the last commands that name a lock's key went out, for the latest attempts of one worker.

use std::collections::VecDeque;

use picklock_scenarios::Phase;

/// Attempts of one worker whose last commands are remembered.
const REMEMBERED: usize = 1024;

/// What makes two commands of an attempt alike: their phase, key and node.
pub(crate) type KindOfCommand = (Phase, u32, usize);

/// For each attempt, its last command of each kind and the time of that, nanoseconds; attempts in order.
#[derive(Debug, Default)]
pub(crate) struct LastCommands(VecDeque<(u64, Vec<(KindOfCommand, u64)>)>);

impl LastCommands {
    /// A command of an attempt. `likely`: how many kinds of them an attempt has, to make room for.
    pub(crate) fn note(&mut self, op: u64, kind: KindOfCommand, at_ns: u64, likely: usize) {
        let last = self.attempt(op, likely);
        match last.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, known_ns)) => *known_ns = at_ns.max(*known_ns),
            None => last.push((kind, at_ns)),
        }
        if self.0.len() > REMEMBERED {
            self.0.pop_front();
        }
    }

    fn attempt(&mut self, op: u64, likely: usize) -> &mut Vec<(KindOfCommand, u64)> {
        // It is nearly always the latest one.
        let later = self.0.iter().rev().take_while(|(other, _)| *other > op);
        let mut index = self.0.len() - later.count();
        if index > 0 && self.0[index - 1].0 == op {
            index -= 1;
        } else {
            self.0.insert(index, (op, Vec::with_capacity(likely)));
        }
        &mut self.0[index].1
    }

    /// The time of the last command of this attempt and phase that names the key. With several nodes, the
    /// earliest of their last commands counts: a quorum may have released the lock while the command to
    /// another node was still on its way.
    pub(crate) fn last_ns(&self, op: u64, phase: Phase, key: u32) -> Option<u64> {
        let index = self.0.binary_search_by_key(&op, |(op, _)| *op).ok()?;
        let last = self.0[index].1.iter();
        let matching = last.filter(|(kind, _)| (kind.0, kind.1) == (phase, key));
        matching.map(|(_, at_ns)| *at_ns).min()
    }
}

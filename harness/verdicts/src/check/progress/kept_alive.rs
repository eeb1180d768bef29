//! Locks that a dead client's value keeps from everybody, because other clients' commands prolong it.
//!
//! What a dead client has left runs out when its life is over that it had when the client died. If it
//! stands longer, because another worker's command has given it a new life, it is nobody's: its owner is
//! dead, and those who prolong it did not write it. That a client holds the lock by its own account, whose
//! value is long gone, does not change this.

use picklock_scenarios::Phase;

use crate::key_history::{Expiry, KeyUpdate, may_be_lock_value};
use crate::timeline::{Attempt, Step, UnderWay};

/// A value that stands in a key and was written to take a lock.
#[derive(Debug, Clone, Copy)]
struct CurrentValue {
    lock: u32,
    node: usize,
    /// Which value it is.
    serial: u64,
    /// Who wrote it.
    author: usize,
    author_died: bool,
    /// Others have prolonged it since its author died: when it would have been over.
    due_ns: Option<u64>,
}

/// The values that stand.
#[derive(Debug, Default)]
pub(in crate::check) struct KeptAlive {
    /// By the number of the key.
    current_values: Vec<Option<CurrentValue>>,
    /// The lock of each attempt that is under way.
    under_way: UnderWay<u32>,
    /// Some value is kept alive: else nothing need be searched.
    any: bool,
}

impl KeptAlive {
    pub(in crate::check) fn step(&mut self, attempt: &Attempt, step: Step) {
        match step {
            Step::Requested => self.under_way.begin(attempt.op, attempt.key),
            Step::Begun | Step::Denied(_) | Step::Gone => {
                self.under_way.end(attempt.op);
            }
            _ => {}
        }
    }

    pub(in crate::check) fn died(&mut self, worker: usize) {
        for current_values in self.current_values.iter_mut().flatten() {
            current_values.author_died |= current_values.author == worker;
        }
    }

    pub(in crate::check) fn key_changed(&mut self, update: &KeyUpdate<'_>) {
        if self.current_values.len() <= update.place {
            self.current_values.resize(update.place + 1, None);
        }
        let known = self.current_values[update.place];
        self.current_values[update.place] = match (update.now, known) {
            (None, _) => None,
            (Some(now), Some(known)) if now.serial == known.serial => Some(known.renewed(update)),
            (Some(_), _) => self.written(update),
        };
        self.any |= self.current_values[update.place].is_some_and(|it| it.due_ns.is_some());
    }

    /// A value that was written to take a lock.
    fn written(&self, update: &KeyUpdate<'_>) -> Option<CurrentValue> {
        let now = update.now?;
        let author = now.author.filter(|by| by.phase == Phase::Acquire)?;
        let lock = *self.under_way.get(author.op)?;
        may_be_lock_value(update.key, now.expiry.is_some()).then_some(CurrentValue {
            lock,
            node: update.node,
            serial: now.serial,
            author: author.worker,
            author_died: false,
            due_ns: None,
        })
    }

    /// The nodes on which a dead client's value of this lock is kept alive, and when the last of them would
    /// have been over.
    pub(in crate::check) fn of_lock(&self, lock: u32) -> Option<(Vec<usize>, u64)> {
        if !self.any {
            return None;
        }
        let current_values = self.current_values.iter().flatten();
        let of_lock = current_values.filter(|current_values| current_values.lock == lock);
        let kept = of_lock
            .filter_map(|current_values| Some((current_values.node, current_values.due_ns?)));
        let (nodes, due_ns): (Vec<usize>, Vec<u64>) = kept.unzip();
        Some((nodes, due_ns.into_iter().max()?))
    }
}

impl CurrentValue {
    /// The value is still there, and may have another life from now on.
    fn renewed(self, update: &KeyUpdate<'_>) -> CurrentValue {
        let command = update.command();
        let foreign = command.is_some_and(|command| command.worker != self.author);
        let kept = self.author_died && foreign && update.prolongs();
        let before = update.before.as_ref().and_then(|before| before.expiry);
        let due_ns = before.filter(|_| kept).map(Expiry::ended_at_ns);
        CurrentValue {
            due_ns: self.due_ns.or(due_ns),
            ..self
        }
    }
}

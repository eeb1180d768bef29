//! Locks that are blocked by a dead client's value, because other clients' commands prolong it.
//!
//! A dead client's value should expire when it was due at the time of the death. If another worker's command prolongs
//! it beyond that, no client owns it: its owner is dead, and the others did not write it. It does not matter if another
//! client's lock still reports a hold although that client's value is long gone.

use picklock_scenarios::Phase;

use crate::history::Header;
use crate::key_history::{Expiry, KeyUpdate, may_be_lock_value};
use crate::timeline::{Attempt, Step, UnderWay};

/// A value in a key that was written to take a lock.
#[derive(Debug, Clone, Copy)]
struct LockValue {
    lock: u32,
    node: usize,
    serial: u64,
    /// The worker that wrote it.
    author: usize,
    author_died: bool,
    /// If other workers have prolonged the value since its author died, when it would have expired without them;
    /// otherwise `None`.
    due_ns: Option<u64>,
}

/// The current values of the locks.
#[derive(Debug, Default)]
pub(in crate::check) struct KeptAlive {
    /// Whether the run has a key history. Without one, no value is known.
    key_history: bool,
    /// The values, by the number of the key.
    current_values: Vec<Option<LockValue>>,
    /// The lock of each active attempt.
    locks: UnderWay<u32>,
    /// Whether any value is kept alive. If `false`, the values need not be searched.
    any: bool,
}

impl KeptAlive {
    pub(in crate::check) fn new(header: &Header) -> Self {
        KeptAlive {
            key_history: header.key_history,
            ..KeptAlive::default()
        }
    }

    pub(in crate::check) fn step(&mut self, attempt: &Attempt, step: Step) {
        if !self.key_history {
            return;
        }
        match step {
            Step::Requested => self.locks.begin(attempt.op, attempt.lock),
            Step::Begun | Step::Denied(_) | Step::Gone => {
                self.locks.end(attempt.op);
            }
            _ => {}
        }
    }

    pub(in crate::check) fn died(&mut self, worker: usize) {
        for value in self.current_values.iter_mut().flatten() {
            value.author_died |= value.author == worker;
        }
    }

    pub(in crate::check) fn key_changed(&mut self, update: &KeyUpdate<'_>) {
        if self.current_values.len() <= update.key_number {
            self.current_values.resize(update.key_number + 1, None);
        }
        let known = self.current_values[update.key_number];
        self.current_values[update.key_number] = match (update.now, known) {
            (None, _) => None,
            (Some(now), Some(known)) if now.serial == known.serial => Some(known.renewed(update)),
            (Some(_), _) => self.written(update),
        };
        self.any |=
            self.current_values[update.key_number].is_some_and(|value| value.due_ns.is_some());
    }

    /// Returns the new value of a key, or `None` if it was not written to take a lock.
    fn written(&self, update: &KeyUpdate<'_>) -> Option<LockValue> {
        let now = update.now?;
        let author = now.author.filter(|by| by.phase == Phase::Acquire)?;
        let lock = *self.locks.get(author.op)?;
        may_be_lock_value(update.key, now.expiry.is_some()).then_some(LockValue {
            lock,
            node: update.node,
            serial: now.serial,
            author: author.worker,
            author_died: false,
            due_ns: None,
        })
    }

    /// Returns the nodes on which a dead client's value of this lock is kept alive, and when the last of these values
    /// would have expired. Returns `None` if there are no such values.
    pub(in crate::check) fn values_of_lock(&self, lock: u32) -> Option<(Vec<usize>, u64)> {
        if !self.any {
            return None;
        }
        let (nodes, due_ns): (Vec<usize>, Vec<u64>) = (self.current_values.iter().flatten())
            .filter(|value| value.lock == lock)
            .filter_map(|value| Some((value.node, value.due_ns?)))
            .unzip();
        Some((nodes, due_ns.into_iter().max()?))
    }
}

impl LockValue {
    /// Returns the value after a command that may have changed its expiry.
    fn renewed(self, update: &KeyUpdate<'_>) -> LockValue {
        let command = update.command();
        let is_foreign = command.is_some_and(|command| command.worker != self.author);
        let is_kept_alive = self.author_died && is_foreign && update.prolongs();
        let before = update.before.as_ref().and_then(|before| before.expiry);
        let due_ns = before.filter(|_| is_kept_alive).map(Expiry::expires_at_ns);
        LockValue {
            due_ns: self.due_ns.or(due_ns),
            ..self
        }
    }
}

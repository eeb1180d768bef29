//! Locks that a dead client's value keeps from everybody, because other clients' commands prolong it.
//!
//! What a dead client has left runs out when its life is over that it had when the client died. If it
//! stands longer, because another worker's command has given it a new life, it is nobody's: its owner is
//! dead, and those who prolong it did not write it. That a client holds the lock by its own account, whose
//! value is long gone, does not change this.

use picklock_scenarios::Phase;

use crate::custody::{Expiry, KeyUpdate, may_be_a_claim};
use crate::timeline::{Attempt, Step, UnderWay};

/// A value that stands in a key and was written to take a lock.
#[derive(Debug, Clone, Copy)]
struct Standing {
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
pub(super) struct KeptAlive {
    /// By the number of the key.
    standing: Vec<Option<Standing>>,
    /// The lock of each attempt that is under way.
    under_way: UnderWay<u32>,
    /// Some value is kept alive: else nothing need be searched.
    any: bool,
}

impl KeptAlive {
    pub(super) fn step(&mut self, attempt: &Attempt, step: Step) {
        match step {
            Step::Asked => self.under_way.begin(attempt.op, attempt.key),
            Step::Begun | Step::Denied(_) | Step::Gone => {
                self.under_way.end(attempt.op);
            }
            _ => {}
        }
    }

    pub(super) fn died(&mut self, worker: usize) {
        for standing in self.standing.iter_mut().flatten() {
            standing.author_died |= standing.author == worker;
        }
    }

    pub(super) fn key_changed(&mut self, update: &KeyUpdate<'_>) {
        if self.standing.len() <= update.place {
            self.standing.resize(update.place + 1, None);
        }
        let known = self.standing[update.place];
        self.standing[update.place] = match (update.now, known) {
            (None, _) => None,
            (Some(now), Some(known)) if now.serial == known.serial => Some(known.renewed(update)),
            (Some(_), _) => self.written(update),
        };
        self.any |= self.standing[update.place].is_some_and(|it| it.due_ns.is_some());
    }

    /// A value that was written to take a lock.
    fn written(&self, update: &KeyUpdate<'_>) -> Option<Standing> {
        let now = update.now?;
        let author = now.author.filter(|by| by.phase == Phase::Acquire)?;
        let lock = *self.under_way.get(author.op)?;
        may_be_a_claim(update.key, now.expiry.is_some()).then_some(Standing {
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
    pub(super) fn of_lock(&self, lock: u32) -> Option<(Vec<usize>, u64)> {
        if !self.any {
            return None;
        }
        let standing = self.standing.iter().flatten();
        let of_lock = standing.filter(|standing| standing.lock == lock);
        let kept = of_lock.filter_map(|standing| Some((standing.node, standing.due_ns?)));
        let (nodes, due_ns): (Vec<usize>, Vec<u64>) = kept.unzip();
        Some((nodes, due_ns.into_iter().max()?))
    }
}

impl Standing {
    /// The value is still there, and may have another life from now on.
    fn renewed(self, update: &KeyUpdate<'_>) -> Standing {
        let command = update.command();
        let foreign = command.is_some_and(|command| command.worker != self.author);
        let kept = self.author_died && foreign && update.prolongs();
        let before = update.before.as_ref().and_then(|before| before.expiry);
        let due_ns = before.filter(|_| kept).map(Expiry::over_ns);
        Standing {
            due_ns: self.due_ns.or(due_ns),
            ..self
        }
    }
}

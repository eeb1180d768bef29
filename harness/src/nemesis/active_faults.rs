//! The faults that have started and not ended, and what must be undone for each.
//!
//! A fault is listed before its first target is struck, and each step is recorded as soon as it is
//! done. So whatever ends a fault (its time, a target that cannot be struck, the end of the run)
//! finds everything that was done. A fault that never ends leaves the list without an end.

use std::cell::RefCell;

use picklock_scenarios::{Resource, StockFault, TaskScope};

use super::clocks::ClockOf;
use crate::proxy::ImposedId;

/// A step that undoes what was done to one target. Doing it twice does no harm.
#[derive(Debug, Clone, Copy)]
pub(super) enum Undo {
    ThawWorker(usize),
    UnblockWorker {
        worker: usize,
        scope: TaskScope,
        /// Until when it was to be blocked.
        due_ns: u64,
    },
    ReviveWorker(usize),
    ResumeNode(usize),
    RestartNode(usize),
    Replenish(usize, Resource),
    Lift(ImposedId),
    ResetClock(ClockOf),
    LiftStock(usize, StockFault),
}

/// The faults that have started and not ended.
#[derive(Default)]
pub(super) struct ActiveFaults {
    faults: RefCell<Vec<Fault>>,
}

struct Fault {
    id: u32,
    /// What was done so far, in this order.
    undo: Vec<Undo>,
    /// When it is to end, where its scenario says so.
    due_ns: Option<u64>,
}

impl ActiveFaults {
    /// A fault starts.
    pub(super) fn start(&self, id: u32) {
        let (undo, due_ns) = (Vec::new(), None);
        self.faults.borrow_mut().push(Fault { id, undo, due_ns });
    }

    /// What is known of a fault; `None`: it has ended.
    fn of<T>(&self, id: u32, work: impl FnOnce(&mut Fault) -> T) -> Option<T> {
        let mut faults = self.faults.borrow_mut();
        faults.iter_mut().find(|fault| fault.id == id).map(work)
    }

    /// The fault is to end at this time.
    pub(super) fn is_due(&self, id: u32, at_ns: u64) {
        self.of(id, |fault| fault.due_ns = Some(at_ns));
    }

    /// When the fault is to end. `None`: its scenario does not say, or it has ended.
    pub(super) fn due_ns(&self, id: u32) -> Option<u64> {
        self.of(id, |fault| fault.due_ns)?
    }

    /// The fault has done something that must be undone.
    pub(super) fn record(&self, id: u32, step: Undo) {
        self.of(id, |fault| fault.undo.push(step));
    }

    /// True if another fault has paused the node, too: it stays paused until the last of them ends.
    pub(super) fn leaves_paused(&self, id: u32, node: usize) -> bool {
        let pauses = |step: &Undo| matches!(step, Undo::ResumeNode(paused) if *paused == node);
        let pauses_it = |fault: &Fault| fault.id != id && fault.undo.iter().any(pauses);
        let is_paused = self.faults.borrow().iter().any(pauses_it);
        if is_paused {
            self.of(id, |fault| fault.undo.retain(|step| !pauses(step)));
        }
        is_paused
    }

    /// What was done so far stays: returns it, and forgets it.
    pub(super) fn keep(&self, id: u32) -> Vec<Undo> {
        let kept = self.of(id, |fault| std::mem::take(&mut fault.undo));
        kept.unwrap_or_default()
    }

    /// What must be undone, in the order in which it was done. `None`: the fault has ended.
    pub(super) fn steps(&self, id: u32) -> Option<Vec<Undo>> {
        self.of(id, |fault| fault.undo.clone())
    }

    /// Takes the fault off the list. False: it was off already.
    pub(super) fn remove(&self, id: u32) -> bool {
        let mut faults = self.faults.borrow_mut();
        let position = faults.iter().position(|fault| fault.id == id);
        position.map(|index| faults.remove(index)).is_some()
    }

    /// The fault that started last.
    pub(super) fn last(&self) -> Option<u32> {
        self.faults.borrow().last().map(|fault| fault.id)
    }
}

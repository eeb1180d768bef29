//! The active faults, each with its undo steps.
//!
//! A fault is listed before its first target is affected, and each undo step is recorded as soon as the effect exists.
//! So the list is complete, whatever ends the fault: its duration, a target that cannot be affected, or the end of the
//! run. A fault that never ends is removed from the list without being undone.

use std::cell::RefCell;

use picklock_scenarios::{Resource, StockFault, TaskScope};

use super::clocks::ClockOwner;
use crate::proxy::ImposedId;

/// A step that undoes the effect on one target. It may be executed twice.
#[derive(Debug, Clone, Copy)]
pub(super) enum Undo {
    ThawWorker(usize),
    UnblockWorker {
        worker: usize,
        scope: TaskScope,
        /// The time at which the block is planned to end.
        due_ns: u64,
    },
    RestartWorker(usize),
    ResumeNode(usize),
    RestartNode(usize),
    Replenish(usize, Resource),
    Lift(ImposedId),
    ResetClock(ClockOwner),
    LiftStock(usize, StockFault),
}

#[derive(Default)]
pub(super) struct ActiveFaults {
    faults: RefCell<Vec<Fault>>,
}

struct Fault {
    id: u32,
    /// The undo steps, in the order in which the fault recorded them.
    undo: Vec<Undo>,
    /// The time at which the fault is planned to end, or `None` if its scenario sets none.
    due_ns: Option<u64>,
    /// Whether the history has the end of the fault.
    is_end_recorded: bool,
}

impl ActiveFaults {
    /// Adds a fault that starts to the list.
    pub(super) fn start(&self, id: u32) {
        self.faults.borrow_mut().push(Fault {
            id,
            undo: Vec::new(),
            due_ns: None,
            is_end_recorded: false,
        });
    }

    /// Calls `f` with the active fault `id`. Returns `None` if the fault has ended.
    fn with_fault<T>(&self, id: u32, f: impl FnOnce(&mut Fault) -> T) -> Option<T> {
        let mut faults = self.faults.borrow_mut();
        faults.iter_mut().find(|fault| fault.id == id).map(f)
    }

    /// Sets the time at which the fault is planned to end.
    pub(super) fn set_due(&self, id: u32, at_ns: u64) {
        self.with_fault(id, |fault| fault.due_ns = Some(at_ns));
    }

    /// Returns the time at which the fault is planned to end. Returns `None` if its scenario sets none, or if the fault
    /// has ended.
    pub(super) fn due_ns(&self, id: u32) -> Option<u64> {
        self.with_fault(id, |fault| fault.due_ns)?
    }

    /// Notes that the end of the fault is being recorded. Returns `false` if it was recorded before.
    pub(super) fn record_end(&self, id: u32) -> bool {
        let was_recorded = self.with_fault(id, |fault| {
            std::mem::replace(&mut fault.is_end_recorded, true)
        });
        was_recorded == Some(false)
    }

    /// Records an undo step of the fault.
    pub(super) fn record(&self, id: u32, step: Undo) {
        self.with_fault(id, |fault| fault.undo.push(step));
    }

    /// Returns `true` if another active fault has also paused the node. The node then stays paused until the last of
    /// these faults ends.
    pub(super) fn leaves_paused(&self, id: u32, node: usize) -> bool {
        let pauses = |step: &Undo| matches!(step, Undo::ResumeNode(paused) if *paused == node);
        let pauses_it = |fault: &Fault| fault.id != id && fault.undo.iter().any(pauses);
        let is_paused = self.faults.borrow().iter().any(pauses_it);
        if is_paused {
            self.with_fault(id, |fault| fault.undo.retain(|step| !pauses(step)));
        }
        is_paused
    }

    /// Removes and returns the undo steps, so that the effects are not undone.
    pub(super) fn take_steps(&self, id: u32) -> Vec<Undo> {
        let steps = self.with_fault(id, |fault| std::mem::take(&mut fault.undo));
        steps.unwrap_or_default()
    }

    /// Returns the undo steps in the order in which they were recorded, or `None` if the fault has ended.
    pub(super) fn steps(&self, id: u32) -> Option<Vec<Undo>> {
        self.with_fault(id, |fault| fault.undo.clone())
    }

    /// Removes the fault from the list. Returns `false` if it was not listed.
    pub(super) fn remove(&self, id: u32) -> bool {
        let mut faults = self.faults.borrow_mut();
        let position = faults.iter().position(|fault| fault.id == id);
        position.map(|index| faults.remove(index)).is_some()
    }

    /// Returns the active fault that started last, or `None` if there is none.
    pub(super) fn last(&self) -> Option<u32> {
        self.faults.borrow().last().map(|fault| fault.id)
    }
}

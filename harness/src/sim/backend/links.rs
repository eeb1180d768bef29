//! Simulated links.

use std::rc::Rc;

use picklock_scenarios::Phase;

use super::SimBackend;
use crate::backend::Links;
use crate::wire::{ImposedId, LinkFault};

impl Links for Rc<SimBackend> {
    fn impose(&self, fault: LinkFault) -> ImposedId {
        self.network.faults.impose(fault)
    }

    fn lift(&self, id: ImposedId) {
        let holes = self.network.faults.lift(id);
        self.network.reset_holes(&holes);
        self.network.look_again();
    }

    fn struck(&self, id: ImposedId) -> u64 {
        self.network.faults.struck(id)
    }

    fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) {
        self.network.cut(workers, nodes);
    }

    fn set_phase(&self, worker: usize, op: u64, phase: Phase) {
        self.network.state.borrow_mut().set_phase(worker, op, phase);
    }

    fn last_command_ns(&self, worker: usize, op: u64, phase: Phase, key: u32) -> Option<u64> {
        self.network.last_command_ns(worker, op, phase, key)
    }

    fn has_spoken(&self, worker: usize) -> bool {
        self.network.state.borrow().has_spoken(worker)
    }
}

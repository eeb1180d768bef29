//! Simulated links.

use std::rc::Rc;

use picklock_scenarios::Phase;

use super::SimBackend;
use crate::backend::Links;
use crate::wire::{AcquireSilence, CommandsSent, ImposedId, LinkFault};

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
        self.network.set_phase(worker, op, phase);
    }

    fn begin_attempt(&self, op: u64, key: u32) {
        for node in &mut self.network.state.borrow_mut().nodes {
            node.begin_attempt(op, key);
        }
    }

    fn last_command_ns(&self, worker: usize, op: u64, phase: Phase, key: u32) -> Option<u64> {
        self.network.last_command_ns(worker, op, phase, key)
    }

    fn silence(&self, worker: usize) -> Option<AcquireSilence> {
        self.network.silence(worker)
    }

    fn first_silence(&self, worker: usize) -> Option<(u64, u64)> {
        self.network.first_silence(worker)
    }

    fn commands_sent(&self) -> CommandsSent {
        self.network.state.borrow().commands_sent()
    }

    fn has_spoken(&self, worker: usize) -> bool {
        self.network.state.borrow().has_spoken(worker)
    }
}

//! Links: the wire.

use picklock_scenarios::Phase;

use super::RealWorld;
use crate::wire::{ImposedId, LinkFault};
use crate::world::Links;

impl Links for RealWorld {
    fn impose(&self, fault: LinkFault) -> ImposedId {
        self.wire.impose(fault)
    }

    fn lift(&self, id: ImposedId) {
        self.wire.lift(id);
    }

    fn struck(&self, id: ImposedId) -> u64 {
        self.wire.struck(id)
    }

    fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) {
        self.wire.cut(workers, nodes);
    }

    fn set_phase(&self, worker: usize, op: u64, phase: Phase) {
        self.wire.set_phase(worker, op, phase);
    }

    fn last_command_ns(&self, worker: usize, op: u64, phase: Phase, key: u32) -> Option<u64> {
        self.wire.log().last_request_naming(worker, op, phase, key)
    }
}

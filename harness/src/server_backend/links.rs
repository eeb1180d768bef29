//! Links: the wire.

use picklock_scenarios::Phase;

use super::ServerBackend;
use crate::backend::Links;
use crate::wire::{FreezeLeak, ImposedId, LinkFault};

impl Links for ServerBackend {
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

    fn has_spoken(&self, worker: usize) -> bool {
        self.wire.silences().has_spoken(worker)
    }

    async fn begin_silence(&self, worker: usize) {
        if let Err(error) = self.wire.silences().begin(worker).await {
            self.wire.note_shortage(format!(
                "it is not known whether a fault of worker {worker} has struck, because the                  kernel's table of connections cannot be read: {error}"
            ));
        }
    }

    fn escape(&self, worker: usize) -> Option<FreezeLeak> {
        self.wire.silences().escape(worker)
    }

    fn end_silence(&self, worker: usize) {
        self.wire.silences().end(worker);
    }
}

//! Links: the wire.

use picklock_scenarios::Phase;

use super::ServerBackend;
use crate::backend::Links;
use crate::wire::{AcquireSilence, CommandsSent, FreezeLeak, ImposedId, LinkFault};

impl Links for ServerBackend {
    fn impose(&self, fault: LinkFault) -> ImposedId {
        self.parts.wire.impose(fault)
    }

    fn lift(&self, id: ImposedId) {
        self.parts.wire.lift(id);
    }

    fn struck(&self, id: ImposedId) -> u64 {
        self.parts.wire.struck(id)
    }

    fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) {
        self.parts.wire.cut(workers, nodes);
    }

    fn set_phase(&self, worker: usize, op: u64, phase: Phase) {
        self.parts.wire.set_phase(worker, op, phase);
    }

    fn begin_attempt(&self, op: u64, key: u32) {
        for node in self.observed.borrow().iter() {
            node.begin_attempt(op, key);
        }
    }

    fn last_command_ns(&self, worker: usize, op: u64, phase: Phase, key: u32) -> Option<u64> {
        self.parts
            .wire
            .log()
            .last_request_naming(worker, op, phase, key)
    }

    fn silence(&self, worker: usize) -> Option<AcquireSilence> {
        self.parts.wire.silence(worker)
    }

    fn first_silence(&self, worker: usize) -> Option<(u64, u64)> {
        self.parts.wire.first_silence(worker)
    }

    fn commands_sent(&self) -> CommandsSent {
        self.parts.wire.commands_sent()
    }

    fn has_spoken(&self, worker: usize) -> bool {
        self.parts.wire.silences().has_spoken(worker)
    }

    async fn begin_silence(&self, worker: usize) {
        if let Err(error) = self.parts.wire.silences().begin(worker).await {
            self.parts.wire.note_shortage(format!(
                "it is not known whether a fault of worker {worker} has struck, because the                  kernel's table of connections cannot be read: {error}"
            ));
        }
    }

    fn escape(&self, worker: usize) -> Option<FreezeLeak> {
        self.parts.wire.silences().escape(worker)
    }

    fn end_silence(&self, worker: usize) {
        self.parts.wire.silences().end(worker);
    }
}

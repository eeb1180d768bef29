//! Which worker is frozen or dead by which fault, and the proof that it was.

use std::cell::RefCell;

use super::schedule::Nemesis;
use crate::history::What;
use crate::world::World;

/// The faults by which workers are frozen or dead at present: pairs of a fault and a worker.
#[derive(Debug, Default)]
pub(super) struct Silences(RefCell<Vec<(u32, usize)>>);

impl Silences {
    fn add(&self, fault: u32, worker: usize) {
        self.0.borrow_mut().push((fault, worker));
    }

    /// False: the pair was not listed.
    fn remove(&self, fault: u32, worker: usize) -> bool {
        let mut silent = self.0.borrow_mut();
        let position = silent.iter().position(|one| *one == (fault, worker));
        position.map(|index| silent.remove(index)).is_some()
    }

    fn is_silent(&self, worker: usize) -> bool {
        self.0.borrow().iter().any(|(_, silent)| *silent == worker)
    }
}

impl<W: World> Nemesis<W> {
    /// The fault has frozen or killed the worker: nothing may come from it now.
    pub(super) async fn begin_silence(&self, fault: u32, worker: usize) {
        self.silences.add(fault, worker);
        self.context.world.begin_silence(worker).await;
    }

    /// The worker is about to continue, or to be started again, as far as this fault is concerned.
    /// Writes down what came from it nevertheless. True if no other fault keeps it silent.
    pub(super) fn end_silence(&self, fault: u32, worker: usize) -> bool {
        if self.silences.remove(fault, worker) {
            self.note_escape(fault, worker);
        }
        let free = !self.silences.is_silent(worker);
        if free {
            self.context.world.end_silence(worker);
        }
        free
    }

    /// Writes down what came from workers that stay frozen or dead.
    pub(super) fn end_all_silences(&self) {
        for (fault, worker) in self.silences.0.take() {
            self.note_escape(fault, worker);
            self.context.world.end_silence(worker);
        }
    }

    fn note_escape(&self, fault: u32, worker: usize) {
        if let Some(escape) = self.context.world.escape(worker) {
            self.context.recorder.write(What::FaultEscaped {
                id: fault,
                worker,
                node: escape.node,
                came_ns: escape.came_ns,
            });
        }
    }
}

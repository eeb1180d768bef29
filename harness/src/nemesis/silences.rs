//! Which worker is frozen or dead by which fault, and the proof that it was.

use std::cell::RefCell;

use crate::backend::Backend;
use crate::context::RunContext;
use crate::history::EventKind;

/// The faults by which workers are frozen or dead at present: pairs of a fault and a worker.
#[derive(Debug, Default)]
pub(super) struct Silences(RefCell<Vec<(u32, usize)>>);

impl Silences {
    /// The fault has frozen or killed the worker: nothing may come from it now.
    pub(super) async fn begin<W: Backend>(
        &self,
        context: &RunContext<W>,
        fault: u32,
        worker: usize,
    ) {
        self.0.borrow_mut().push((fault, worker));
        context.backend.begin_silence(worker).await;
    }

    /// The worker is about to continue, or to be started again, as far as this fault is concerned.
    /// Writes down what came from it nevertheless. True if no other fault keeps it silent.
    pub(super) fn end<W: Backend>(
        &self,
        context: &RunContext<W>,
        fault: u32,
        worker: usize,
    ) -> bool {
        if self.remove(fault, worker) {
            note_escape(context, fault, worker);
        }
        let free = !self.0.borrow().iter().any(|(_, silent)| *silent == worker);
        if free {
            context.backend.end_silence(worker);
        }
        free
    }

    /// Writes down what came from workers that stay frozen or dead.
    pub(super) fn end_all<W: Backend>(&self, context: &RunContext<W>) {
        for (fault, worker) in self.0.take() {
            note_escape(context, fault, worker);
            context.backend.end_silence(worker);
        }
    }

    /// False: the pair was not listed.
    fn remove(&self, fault: u32, worker: usize) -> bool {
        let mut silent = self.0.borrow_mut();
        let position = silent.iter().position(|one| *one == (fault, worker));
        position.map(|index| silent.remove(index)).is_some()
    }
}

fn note_escape<W: Backend>(context: &RunContext<W>, fault: u32, worker: usize) {
    if let Some(escape) = context.backend.escape(worker) {
        context.recorder.write(EventKind::FaultEscaped {
            id: fault,
            worker,
            node: escape.node,
            came_ns: escape.came_ns,
        });
    }
}

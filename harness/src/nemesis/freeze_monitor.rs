//! Which worker is frozen or dead by which fault, and the proof that it was.

use std::cell::RefCell;

use crate::backend::Backend;
use crate::context::RunContext;
use crate::history::EventKind;

/// The faults by which workers are frozen or dead at present: pairs of a fault and a worker.
#[derive(Debug, Default)]
pub(super) struct FreezeMonitor(RefCell<Vec<(u32, usize)>>);

impl FreezeMonitor {
    /// The fault has frozen or killed the worker: nothing may come from it now.
    pub(super) async fn begin<B: Backend>(
        &self,
        context: &RunContext<B>,
        fault: u32,
        worker: usize,
    ) {
        self.0.borrow_mut().push((fault, worker));
        context.backend.expect_no_traffic(worker).await;
    }

    /// The worker is about to continue, as far as this fault is concerned. Writes down what came from it
    /// nevertheless. True if no other fault keeps it silent.
    pub(super) fn end<B: Backend>(
        &self,
        context: &RunContext<B>,
        fault: u32,
        worker: usize,
    ) -> bool {
        if self.remove(fault, worker) {
            record_freeze_breach(context, fault, worker);
        }
        let free = !self.0.borrow().iter().any(|(_, silent)| *silent == worker);
        if free {
            context.backend.allow_traffic(worker);
        }
        free
    }

    /// The worker is about to be started again: nothing keeps its new process silent, whatever fault froze or killed the
    /// old one. Writes down what came from that nevertheless.
    pub(super) fn end_of<B: Backend>(&self, context: &RunContext<B>, worker: usize) {
        for fault in self.remove_all(worker) {
            record_freeze_breach(context, fault, worker);
        }
        context.backend.allow_traffic(worker);
    }

    /// Writes down what came from workers that stay frozen or dead.
    pub(super) fn end_all<B: Backend>(&self, context: &RunContext<B>) {
        for (fault, worker) in self.0.take() {
            record_freeze_breach(context, fault, worker);
            context.backend.allow_traffic(worker);
        }
    }

    /// Takes the worker off the list. Returns the faults by which it was there.
    fn remove_all(&self, worker: usize) -> Vec<u32> {
        let mut silent = self.0.borrow_mut();
        let removed = silent.extract_if(.., |(_, one)| *one == worker);
        removed.map(|(fault, _)| fault).collect()
    }

    /// False: the pair was not listed.
    fn remove(&self, fault: u32, worker: usize) -> bool {
        let mut silent = self.0.borrow_mut();
        let position = silent.iter().position(|one| *one == (fault, worker));
        position.map(|index| silent.remove(index)).is_some()
    }
}

fn record_freeze_breach<B: Backend>(context: &RunContext<B>, fault: u32, worker: usize) {
    if let Some(freeze_breach) = context.backend.freeze_breach(worker) {
        context.recorder.write(EventKind::FreezeBreach {
            id: fault,
            worker,
            node: freeze_breach.node,
            arrived_at_ns: freeze_breach.arrived_at_ns,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client is killed while another fault has frozen it, and started again before that one ends.
    #[test]
    fn worker_that_is_started_again_is_silent_by_no_fault() {
        let freeze_monitor = FreezeMonitor(RefCell::new(vec![(0, 1), (0, 2), (1, 1)]));
        assert_eq!(freeze_monitor.remove_all(1), [0, 1]);
        assert_eq!(*freeze_monitor.0.borrow(), [(0, 2)]);
        // The freeze ends, and there is nothing to tell of the new process.
        assert!(!freeze_monitor.remove(0, 1));
        assert!(freeze_monitor.remove_all(1).is_empty());
    }
}

//! Tracks which fault has frozen or killed which worker, and records traffic that should not exist.

use std::cell::RefCell;

use crate::backend::Backend;
use crate::context::RunContext;
use crate::history::EventKind;

/// The faults that currently freeze or kill workers, as pairs of a fault and a worker.
#[derive(Debug, Default)]
pub(super) struct FrozenWorkers(RefCell<Vec<(u32, usize)>>);

impl FrozenWorkers {
    /// Begins to watch a worker that the fault has frozen or killed, and that must not send data from now on.
    pub(super) async fn begin<B: Backend>(
        &self,
        context: &RunContext<B>,
        fault: u32,
        worker: usize,
    ) {
        self.0.borrow_mut().push((fault, worker));
        context.backend.expect_no_traffic(worker).await;
    }

    /// Ends the watch of a worker for this fault, and records data that the worker has sent.
    /// Returns `true` if no other fault freezes the worker.
    pub(super) fn end<B: Backend>(
        &self,
        context: &RunContext<B>,
        fault: u32,
        worker: usize,
    ) -> bool {
        if self.remove(fault, worker) {
            record_freeze_breach(context, fault, worker);
        }
        let free = !self.0.borrow().iter().any(|(_, frozen)| *frozen == worker);
        if free {
            context.backend.allow_traffic(worker);
        }
        free
    }

    /// Ends all watches of a worker that is about to be started again, because no fault affects its
    /// new process. Records data that the old process has sent.
    pub(super) fn end_for_restart<B: Backend>(&self, context: &RunContext<B>, worker: usize) {
        for fault in self.remove_all(worker) {
            record_freeze_breach(context, fault, worker);
        }
        context.backend.allow_traffic(worker);
    }

    /// Ends all watches, and records data that the workers have sent.
    pub(super) fn end_all<B: Backend>(&self, context: &RunContext<B>) {
        for (fault, worker) in self.0.take() {
            record_freeze_breach(context, fault, worker);
            context.backend.allow_traffic(worker);
        }
    }

    /// Removes the worker from the list, and returns the faults that have frozen or killed it.
    fn remove_all(&self, worker: usize) -> Vec<u32> {
        let mut frozen = self.0.borrow_mut();
        let removed = frozen.extract_if(.., |(_, one)| *one == worker);
        removed.map(|(fault, _)| fault).collect()
    }

    /// Removes the pair. Returns `false` if it was not listed.
    fn remove(&self, fault: u32, worker: usize) -> bool {
        let mut frozen = self.0.borrow_mut();
        let position = frozen.iter().position(|entry| *entry == (fault, worker));
        position.map(|index| frozen.remove(index)).is_some()
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

    /// A client is killed while another fault has frozen it, and is restarted before that fault ends.
    #[test]
    fn restarted_worker_is_frozen_by_no_fault() {
        let frozen_workers = FrozenWorkers(RefCell::new(vec![(0, 1), (0, 2), (1, 1)]));
        assert_eq!(frozen_workers.remove_all(1), [0, 1]);
        assert_eq!(*frozen_workers.0.borrow(), [(0, 2)]);
        // The end of the freeze does not concern the new process.
        assert!(!frozen_workers.remove(0, 1));
        assert!(frozen_workers.remove_all(1).is_empty());
    }
}

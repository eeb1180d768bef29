//! Actions on workers.

use picklock_scenarios::WorkerAction;

use super::ongoing::Undo;
use super::schedule::Nemesis;
use crate::backend::{Backend, Refusal};
use crate::history::EventKind;

impl<W: Backend> Nemesis<W> {
    pub(super) async fn apply_to_worker(
        &self,
        fault: u32,
        action: WorkerAction,
        worker: usize,
    ) -> Result<(), Refusal> {
        match action {
            WorkerAction::Freeze => {
                self.context.backend.freeze_worker(worker).await?;
                self.ongoing.record(fault, Undo::ThawWorker(worker));
                self.silences.begin(&self.context, fault, worker).await;
            }
            WorkerAction::Kill => self.kill(fault, worker).await?,
        }
        Ok(())
    }

    /// The kill is written down before it is done: a hold must never be longer than it was.
    async fn kill(&self, fault: u32, worker: usize) -> Result<(), Refusal> {
        if !self.context.live_workers.mark_down(worker, true) {
            return Err(Refusal::Failed(format!("worker {worker} was dead already")));
        }
        self.ongoing.record(fault, Undo::ReviveWorker(worker));
        self.context.recorder.write(EventKind::WorkerDown {
            worker,
            by_fault: true,
            reason: "killed by the nemesis".into(),
        });
        self.context.backend.kill_worker(worker).await?;
        self.silences.begin(&self.context, fault, worker).await;
        Ok(())
    }
}

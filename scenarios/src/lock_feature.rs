//! What a scenario asks of a lock, and a lock may not offer.

use serde::{Deserialize, Serialize};

use crate::fault::{Action, TaskScope, WorkerAction};
use crate::scenario::Scenario;

/// Something that not every lock, or adapter, offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockFeature {
    /// Several clients in one process.
    #[error("several clients in one process")]
    Clients,
    /// Its event loop can be blocked.
    #[error("a blocked event loop")]
    BlockLoop,
    /// The thread of one client can be blocked.
    #[error("a blocked thread")]
    BlockThread,
    /// A client can give up an acquisition.
    #[error("to give up an acquisition")]
    Cancel,
    /// It can be asked to release what it has not.
    #[error("a release without a grant")]
    ReleaseUnheld,
    /// A section can fail.
    #[error("a section that fails")]
    FailSection,
    /// The client that has the lock can take it again.
    #[error("to be taken again by its holder")]
    Reenter,
    /// A client can end while its process lives.
    #[error("a client that ends before its process")]
    EndClient,
}

impl Scenario {
    /// True if clients are to block their own tasks.
    pub fn blocks_tasks(&self) -> bool {
        let asked = self.asks_for();
        asked.contains(&LockFeature::BlockLoop) || asked.contains(&LockFeature::BlockThread)
    }

    /// What it asks of a lock beside locking.
    pub fn asks_for(&self) -> Vec<LockFeature> {
        let workload = &self.workload;
        let of_workload = [
            (
                workload.process_peers(0).nth(1).is_some(),
                LockFeature::Clients,
            ),
            (workload.cancel.is_some(), LockFeature::Cancel),
            (workload.release_refused, LockFeature::ReleaseUnheld),
            (workload.failing_sections > 0, LockFeature::FailSection),
            (workload.reenter.is_some(), LockFeature::Reenter),
            (workload.ending_clients > 0, LockFeature::EndClient),
        ];
        let of_workload = of_workload.into_iter().filter(|(is_asked, _)| *is_asked);
        let of_workload = of_workload.map(|(_, feature)| feature);
        let faults = self.faults.iter();
        let actions = faults.filter_map(|fault| fault.actions()).flatten();
        let blocked = actions.filter_map(|action| match action {
            Action::Worker(WorkerAction::Block(TaskScope::Loop)) => Some(LockFeature::BlockLoop),
            Action::Worker(WorkerAction::Block(TaskScope::Thread)) => {
                Some(LockFeature::BlockThread)
            }
            _ => None,
        });
        of_workload.chain(blocked).collect()
    }
}

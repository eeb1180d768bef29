//! What a scenario asks of a lock, and a lock may not offer.

use serde::{Deserialize, Serialize};

use crate::fault::{Action, TaskScope, WorkerAction};
use crate::scenario::Scenario;

/// Something that not every lock, or adapter, offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ability {
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
        asked.contains(&Ability::BlockLoop) || asked.contains(&Ability::BlockThread)
    }

    /// What it asks of a lock beside locking.
    pub fn asks_for(&self) -> Vec<Ability> {
        let workload = &self.workload;
        let shared = workload.mates_of(0).nth(1).map(|_| Ability::Clients);
        let actions = self
            .faults
            .iter()
            .filter_map(|fault| fault.actions())
            .flatten();
        let blocked = actions.filter_map(|action| match action {
            Action::Worker(WorkerAction::Block(TaskScope::Loop)) => Some(Ability::BlockLoop),
            Action::Worker(WorkerAction::Block(TaskScope::Thread)) => Some(Ability::BlockThread),
            _ => None,
        });
        let cancelled = workload.cancel.map(|_| Ability::Cancel);
        let unheld = workload.release_refused.then_some(Ability::ReleaseUnheld);
        let failing = (workload.failing_sections > 0).then_some(Ability::FailSection);
        let of_workload = shared.into_iter().chain(cancelled).chain(unheld);
        let reentered = workload.reenter.map(|_| Ability::Reenter);
        let ended = (workload.ending_clients > 0).then_some(Ability::EndClient);
        let of_workload = of_workload.chain(failing).chain(reentered).chain(ended);
        of_workload.chain(blocked).collect()
    }
}

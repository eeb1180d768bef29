//! Features beyond plain locking that a scenario can require, and that a lock may not offer.

use serde::{Deserialize, Serialize};

use crate::fault::{Action, TaskScope, WorkerAction};
use crate::lock_kind::LockKind;
use crate::scenario::Scenario;

/// A feature that not every lock or adapter offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockFeature {
    /// Several clients in one process.
    #[error("several clients in one process")]
    Clients,
    /// Blocking the event loop.
    #[error("a blocked event loop")]
    BlockLoop,
    /// Blocking the thread of one client.
    #[error("a blocked thread")]
    BlockThread,
    /// Cancelling an acquisition.
    #[error("cancellation of an acquisition")]
    Cancel,
    /// Releasing a lock that the client does not hold.
    #[error("a release without a grant (`releases_unheld` in `ready`)")]
    ReleaseUnheld,
    /// A section that fails.
    #[error("failing sections")]
    FailSection,
    /// Acquiring a lock again while holding it.
    #[error("re-entry by its holder")]
    Reenter,
    /// A client that ends while its process stays alive.
    #[error("a client that ends before its process")]
    EndClient,
    /// As many holders at a time as the scenario has permits.
    #[error("permits for several holders")]
    Permits,
    /// Several permits in one acquisition.
    #[error("several permits in one acquisition")]
    SeveralPermits,
    /// Readers that do not exclude each other.
    #[error("readers next to writers")]
    SharedMode,
    /// One holder at a time, which acts repeatedly.
    #[error("a single leader")]
    Leadership,
}

impl LockFeature {
    /// Returns the feature that a lock of this kind must offer, or `None` for a lock with one holder.
    pub fn of_kind(kind: LockKind) -> Option<LockFeature> {
        match kind {
            LockKind::Mutex => None,
            LockKind::Semaphore => Some(LockFeature::Permits),
            LockKind::Rwlock => Some(LockFeature::SharedMode),
            LockKind::Leader => Some(LockFeature::Leadership),
        }
    }
}

impl Scenario {
    /// Returns `true` if clients must block their own tasks.
    pub fn blocks_tasks(&self) -> bool {
        let required = self.required_features();
        required.contains(&LockFeature::BlockLoop) || required.contains(&LockFeature::BlockThread)
    }

    /// Returns the features that the scenario requires of a lock.
    pub fn required_features(&self) -> Vec<LockFeature> {
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
            (
                workload.takes_several_permits(),
                LockFeature::SeveralPermits,
            ),
        ];
        let by_workload = of_workload
            .into_iter()
            .filter_map(|(is_required, feature)| is_required.then_some(feature));
        let faults = self.faults.iter();
        let actions = faults.filter_map(|fault| fault.actions()).flatten();
        let blocked = actions.filter_map(|action| match action {
            Action::Worker(WorkerAction::Block(TaskScope::Loop)) => Some(LockFeature::BlockLoop),
            Action::Worker(WorkerAction::Block(TaskScope::Thread)) => {
                Some(LockFeature::BlockThread)
            }
            _ => None,
        });
        // The kind comes first, because a lock of another kind lacks all features of this kind.
        let of_kind = LockFeature::of_kind(workload.kind.lock_kind()).into_iter();
        of_kind.chain(by_workload).chain(blocked).collect()
    }
}

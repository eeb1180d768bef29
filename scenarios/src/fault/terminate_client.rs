//! `terminate-client`: the worker's process receives SIGTERM, is killed if it has not ended after `grace`, and is
//! restarted after `for`.

use super::{Action, Affects, FaultPlan, Field, Kind, Lasts, WorkerAction};
use crate::lease_duration::LeaseDuration;

/// Default of the time that a process has for its clean-up.
const DEFAULT_GRACE: LeaseDuration = LeaseDuration::Ttl(0.5);

pub(super) const KIND: Kind = Kind {
    does: "terminates {}",
    optional: &[Field::Grace, Field::For, Field::Workers],
    // Without a restart it is over as soon as the process has ended.
    lasts: |plan| plan.duration.map_or(Lasts::AtOnce, Lasts::For),
    ends_clients: true,
    ..Kind::new("terminate-client", Affects::Workers, |_| {
        Some(vec![Action::Worker(WorkerAction::Terminate)])
    })
};

impl FaultPlan {
    /// Returns the time from SIGTERM to SIGKILL, or `None` if the fault sends no SIGTERM.
    pub fn grace(&self) -> Option<LeaseDuration> {
        let terminates = self.kind.takes(Field::Grace);
        terminates.then(|| self.grace.unwrap_or(DEFAULT_GRACE))
    }
}

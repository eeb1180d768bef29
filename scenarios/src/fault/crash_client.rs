//! `crash-client`: the worker's process is killed, and restarted after `for`.

use super::{Action, Affects, Field, Kind, WorkerAction};

pub(super) const KIND: Kind = Kind {
    does: "kills {}",
    optional: &[Field::For, Field::Workers],
    is_instantaneous: true,
    ends_clients: true,
    ..Kind::new("crash-client", Affects::Workers, |_| {
        Some(vec![Action::Worker(WorkerAction::Kill)])
    })
};

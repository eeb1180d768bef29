//! `crash-client`: the worker's process is killed, and started again after `for`.

use super::{Action, Field, Kind, Strikes, WorkerAction};

pub(super) const KIND: Kind = Kind {
    does: "kills {}",
    optional: &[Field::For, Field::Workers],
    strikes_once: true,
    ..Kind::new("crash-client", Strikes::Workers, |_| {
        Some(vec![Action::Worker(WorkerAction::Kill)])
    })
};

//! `pause-client`: the worker's process is frozen for a while.

use super::{Action, Affects, Field, Kind, WorkerAction};

pub(super) const KIND: Kind = Kind {
    does: "freezes {}",
    required: &[Field::For],
    stops_clients: true,
    ..Kind::new("pause-client", Affects::Workers, |_| {
        Some(vec![Action::Worker(WorkerAction::Freeze)])
    })
};

//! `pause-client`: the worker's process is frozen for a while.

use super::{Action, Field, Kind, Strikes, WorkerAction};

pub(super) const KIND: Kind = Kind {
    does: "freezes {}",
    required: &[Field::For],
    stops_clients: true,
    ..Kind::new("pause-client", Strikes::Workers, |_| {
        Some(vec![Action::Worker(WorkerAction::Freeze)])
    })
};

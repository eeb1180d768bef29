//! `pause-client`: the worker's process is frozen for a while.

use super::action::{Action, WorkerAction};
use super::kind::Kind;
use super::plan::Field;
use super::strikes::Strikes;

pub(super) const KIND: Kind = Kind {
    does: "freezes {}",
    required: &[Field::For],
    ..Kind::new("pause-client", Strikes::Workers, |_| {
        Some(vec![Action::Worker(WorkerAction::Freeze)])
    })
};

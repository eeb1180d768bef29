//! `pause-client`: the worker's process is frozen for a while.

use super::action::{Action, WorkerAction};
use super::kind::{Kind, Strikes};
use super::plan::Field;

pub(super) const KIND: Kind = Kind {
    required: &[Field::For],
    ..Kind::new("pause-client", Strikes::Workers, |_| {
        Some(vec![Action::Worker(WorkerAction::Freeze)])
    })
};

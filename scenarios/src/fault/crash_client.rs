//! `crash-client`: the worker's process is killed, and started again after `for`.

use super::action::{Action, WorkerAction};
use super::kind::Kind;
use super::plan::Field;
use super::strikes::Strikes;

pub(super) const KIND: Kind = Kind {
    does: "kills {}",
    optional: &[Field::For, Field::Workers],
    strikes_once: true,
    ..Kind::new("crash-client", Strikes::Workers, |_| {
        Some(vec![Action::Worker(WorkerAction::Kill)])
    })
};

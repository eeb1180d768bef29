//! `pause-task`: the event loop, or one thread, is blocked for a while by a call that does not yield.

use super::{Action, Affects, Field, Kind, TaskScope, WorkerAction};

pub(super) const KIND: Kind = Kind {
    does: "blocks the {of} of {}",
    required: &[Field::For],
    optional: &[Field::Workers, Field::Scope],
    stops_clients: true,
    detail: |plan| {
        Some(match plan.scope.unwrap_or_default() {
            TaskScope::Loop => "event loop".to_owned(),
            TaskScope::Thread => "thread".to_owned(),
        })
    },
    ..Kind::new("pause-task", Affects::Workers, |plan| {
        let scope = plan.scope.unwrap_or_default();
        Some(vec![Action::Worker(WorkerAction::Block(scope))])
    })
};

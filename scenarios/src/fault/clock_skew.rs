//! `clock-skew`: the worker's wall clock is wrong until `for` has passed.

use super::clock_jump::must_move;
use super::{Action, Affects, Field, Kind};
use crate::cause::Cause;

pub(super) const KIND: Kind = Kind {
    does: "sets the wall clock of {}",
    required: &[Field::By],
    optional: &[Field::For, Field::Workers],
    check: must_move,
    loss_cause: Some(Cause::ClockSkew),
    ..Kind::new("clock-skew", Affects::Workers, |plan| {
        Some(vec![Action::ShiftClocks(plan.by?)])
    })
};

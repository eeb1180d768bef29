//! `clock-skew`: the worker's wall clock is wrong, and right again after `for`.

use super::action::Action;
use super::clock_jump::must_move;
use super::kind::{Kind, Strikes};
use super::plan::Field;

pub(super) const KIND: Kind = Kind {
    required: &[Field::By],
    optional: &[Field::For, Field::Workers],
    check: must_move,
    ..Kind::new("clock-skew", Strikes::Workers, |plan| {
        Some(vec![Action::ShiftClocks(plan.by?)])
    })
};

//! Decides the cause of a finding, from the key history or, in a bare history, from the answers alone.

pub(super) mod cause;
pub(super) mod cause_from_answers;
pub(super) mod evidence;
pub(super) mod facts;
pub(super) mod lost_ownership;

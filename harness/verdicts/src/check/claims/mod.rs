//! Evidence for the `claims` property: compares what a lock reported with what the key history shows.

pub(super) mod false_answers;
pub(super) mod kept_values;
pub(super) mod left_value;
pub(super) mod promised_renewal;
pub(super) mod taken_value;
pub(super) mod untrue_answers;
pub(super) mod written_values;

//! Evidence for the `claims` property: what a lock reported, compared with the key history.

pub(super) mod continuity;
pub(super) mod false_answers;
pub(super) mod hold_claims;
pub(super) mod kept_values;
pub(super) mod leftover_claims;
pub(super) mod leftover_value;
pub(super) mod promised_renewal;
pub(super) mod taken_value;
pub(super) mod untrue_answers;
pub(super) mod written_expiry;
pub(super) mod written_values;

//! Evidence for the `claims` property: what a lock reported, compared with the key history.
//!
//! `properties/claims.rs` decides. In reading order:
//!
//! - `written_values` and `written_expiry`: the values that an attempt wrote, and whether their expiry fits its lease
//! - `hold_claims`: the claims about a hold. `continuity` judges its course, `promised_renewal` finds renewals that did
//!   not happen, and `untrue_answers` finds answers that the keys contradict
//! - `leftover_claims`: the claims about values that stayed. `kept_values` finds them, each a `leftover_value`, and
//!   `false_answers` finds the faults that excuse them
//! - `taken_value`: values that another client's command changed, for the property `ownership`

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

//! Decides the cause of a finding, from the key history or, without one, from the answers.
//!
//! In reading order:
//!
//! - `evidence`: a second reading of the history, which collects what causes and stories need
//! - `correction`: which violations remain without stalls and delays of the machine
//! - `facts`: the holds, commands and faults that one finding refers to
//! - `cause`: decides, and asks the rest
//! - `lost_ownership` and `ending_command`: why two clients owned one lock, and which command ended a value
//! - `permits`, `ticks`, `phantom_leader`, `unbacked_grant`, `wrong_clock`: causes with their own rules
//! - `cause_from_answers`: causes in a history without key history

pub(super) mod cause;
pub(super) mod cause_from_answers;
mod correction;
pub(super) mod ending_command;
pub(super) mod evidence;
pub(super) mod facts;
pub(super) mod lost_ownership;
pub(super) mod permits;
mod phantom_leader;
mod ticks;
mod unbacked_grant;
mod wrong_clock;

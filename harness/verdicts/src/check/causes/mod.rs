//! Decides the cause of a finding, from the key history or, without one, from the answers.

pub(super) mod cause;
pub(super) mod cause_from_answers;
pub(super) mod ending_command;
pub(super) mod evidence;
pub(super) mod facts;
pub(super) mod lost_ownership;
pub(super) mod permits;
mod phantom_leader;
mod ticks;
mod unbacked_grant;
mod wrong_clock;

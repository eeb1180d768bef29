//! The checkers: pure functions of a history.
//!
//! [`judge`] reads a history once. Each event becomes the [`Step`](crate::timeline::Step) of the attempt that it is
//! about, and goes to every checker of the table in `properties`, one property a file. Memory is
//! proportional to what is in progress, not to the length of the history (what was
//! found, the holds and the faults are kept).
//!
//! Checkers return findings: what was seen, and the attempts, keys and times that prove it. Only
//! then is a finding explained: `evidence` looks up what it names, `cause` decides its cause (`lost_ownership` from the key history,
//! `cause_from_answers` where there is none), and `story` tells it.
//!
//! There is no clock, no I/O and no guess here. What a history does not prove is not `violated`.

mod causes;
mod checker;
mod claims;
mod description;
mod finding;
mod inconclusive;
mod judge;
mod overlap;
mod ownership_from_answers;
mod progress;
mod properties;
mod run_validity;
mod sales;
mod stalls;
mod story;
mod verdict;

pub use checker::Checker;
pub use description::Description;
pub use finding::{
    Claim, FalseClaim, Finding, ForeignRelease, Judgement, Seen, StaleToken, Starvation, WrongStock,
};
pub use inconclusive::{Component, InconclusiveReason, StallContext, StarvationReason};
pub use judge::judge;
pub use properties::describe;
pub use properties::fencing::stale_tokens;
pub use run_validity::reason_for;
pub use stalls::harness_stall::shortest_pause_ms;
pub use verdict::{Cause, Property, Responsible, Status, Verdict, Verdicts, machine_was_too_slow};

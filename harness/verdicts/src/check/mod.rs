//! The checkers: pure functions of a history.
//!
//! [`judge`] reads a history once. Each event becomes the [`Step`](crate::timeline::Step) of the attempt that it is
//! about, and goes to every checker of the table in `properties`, one property a file. Memory is
//! proportional to what is in progress, not to the length of the history (what was
//! found, the holds and the faults are kept).
//!
//! Checkers return findings: what was seen, and the attempts, keys and times that prove it. Only
//! then is a finding explained: `evidence` looks up what it names, `cause` decides its cause (`lost_claim` from the custody,
//! `bare_cause` where there is none), and `story` tells it.
//!
//! There is no clock, no I/O and no guess here. What a history does not prove is not `violated`.

mod bare_cause;
mod bare_ownership;
mod blocked_lock;
mod cause;
mod checker;
mod delays;
mod description;
mod evidence;
mod facts;
mod false_answers;
mod finding;
mod harness_pause;
mod judge;
mod kept_alive;
mod kept_values;
mod left_value;
mod lost_claim;
mod on_time;
mod ongoing;
mod outstanding;
mod overlap;
mod promised_renewal;
mod properties;
mod reach;
mod sales;
mod standstill;
mod starvation_excuse;
mod story;
mod sufficiency;
mod taken_value;
mod unjudged;
mod untrue_answers;
mod verdict;
mod waiters;
mod written_values;

pub use checker::Checker;
pub use description::Description;
pub use finding::{
    Claim, FalseClaim, Finding, ForeignRelease, Judgement, Seen, StaleToken, Starvation, WrongStock,
};
pub use harness_pause::shortest_pause_ms;
pub use judge::judge;
pub use properties::describe;
pub use properties::fencing::stale_tokens;
pub use sufficiency::unjudged_for;
pub use unjudged::{Ongoing, Party, StarvedBy, Unjudged};
pub use verdict::{Cause, Property, Responsible, Status, Verdict, Verdicts, machine_was_too_slow};

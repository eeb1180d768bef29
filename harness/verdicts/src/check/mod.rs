//! The checkers: pure functions of a history.
//!
//! [`judge`] reads a history once. Each event becomes a [`Step`](crate::timeline::Step) of the attempt that it
//! concerns, and goes to every checker in the table in `properties`, which has one file per property. Besides the
//! findings and faults, memory is proportional to the number of attempts in progress, not to the length of the history,
//! unless two holds of a lock may have overlapped, or there is a key history: then all holds are listed.
//!
//! Checkers return findings: an observation, and the attempts, keys and times that prove it. A finding is explained
//! afterwards. `causes::evidence` looks up the attempts, keys and commands that it names, `causes::cause` decides its
//! cause (with `lost_ownership` from the key history, or with `cause_from_answers` without one), and `story` describes
//! it.
//!
//! [`warnings`] finds what no property judges, but users of the lock should know.
//!
//! This module uses no clock and no I/O, and does not guess. A property is `violated` only if the history proves it.

mod causes;
mod checker;
mod claims;
mod description;
mod failures_without_fault;
mod finding;
mod incident;
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
mod torn_reads;
mod turns;
mod undeclared_renewal;
mod verdict;
mod warning;

pub use checker::Checker;
pub use description::Description;
pub use finding::{
    Claim, FalseClaim, Finding, ForeignTaking, Judgement, Observation, StaleToken, Starvation,
    WrongStock,
};
pub use incident::describe_incident;
pub use inconclusive::{
    Component, FailedRequests, InconclusiveReason, StallContext, StarvationReason, TickExcuse,
};
pub use judge::judge;
pub use properties::describe;
pub use properties::fencing::stale_tokens;
pub use stalls::harness_stall::min_harness_stall_ms;
pub use verdict::{
    Cause, Moment, Property, Responsible, Status, Verdict, Verdicts, machine_was_too_slow,
};
pub use warning::{WarnedRequest, Warning, WarningKind, combine_warnings};

/// Returns the warnings about a history.
pub fn warnings(history: &crate::history::History) -> Vec<Warning> {
    let mut warnings = failures_without_fault::failures_without_fault(history);
    warnings.extend(undeclared_renewal::undeclared_renewal(history));
    warnings
}

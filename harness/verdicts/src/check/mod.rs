//! The checkers: pure functions of a history.
//!
//! [`judge`] reads a history once. Each event becomes the [`Step`](crate::timeline::Step) of the one attempt that it
//! speaks of, and goes to every [`Checker`] of a table; one property, one file. Memory is what is
//! under way, not what has been (ownership alone keeps ended holds, while a release of their key
//! is unanswered). Only a violation has the history read again, through
//! [`Evidence`], to find its cause and to tell its story.
//!
//! Absent here: no clock, no I/O, no guess. What a history does not prove is not `violated`.

mod cause;
mod checker;
mod evidence;
mod exclusion;
mod fencing;
mod judge;
mod lease;
#[cfg(test)]
mod oracle;
mod overlap;
mod ownership;
mod progress;
mod resource;
mod sentence;
mod story;
mod sufficiency;
mod verdict;
mod wants;

pub use checker::Checker;
pub use evidence::Evidence;
pub use exclusion::Exclusion;
pub use fencing::{Fencing, StaleToken};
pub use judge::judge;
pub use lease::LeaseOverlap;
pub use overlap::Pair;
pub use ownership::{Ownership, Theft, thefts};
pub use progress::{Progress, Stall};
pub use resource::{Oversale, Resource};
pub use sufficiency::Sufficiency;
pub use verdict::{Cause, Property, Status, Verdict, Verdicts};

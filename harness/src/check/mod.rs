//! The checkers: pure functions of a history.

mod verdict;

pub use verdict::{Cause, Property, Status, Verdict, Verdicts};

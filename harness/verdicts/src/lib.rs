//! Histories, and the verdicts on them.
//!
//! Everything here is a pure function of data: no I/O, no clock, no async runtime. A run produces a history, the
//! checkers judge it, and the record contains the result.

pub mod assemble;
pub mod check;
pub mod counterexamples;
mod encoded_histogram;
pub mod expectation;
pub mod history;
pub mod key_history;
pub mod latency;
pub mod record;
pub mod timeline;

//! Histories, and the verdicts on them.
//!
//! Everything here is a pure function of data: no I/O, no clock, no async runtime. A run produces a history, the
//! checkers judge it, and the record contains the result.
//!
//! In the order of the data:
//!
//! - [`history`]: the events of a run as the driver recorded them
//! - [`timeline`]: the requests, holds, leases and faults in a history
//! - [`key_history`]: the values of each key, with their authors
//! - [`check`]: the checkers, which return verdicts with cause and story
//! - [`assemble`] and [`record`]: the documents of a run, a matrix and a search
//! - [`expectation`], [`latency`] and [`counterexamples`]: what reports need besides verdicts

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

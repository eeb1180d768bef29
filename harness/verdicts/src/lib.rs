//! What a history means.
//!
//! Everything here is a function of data: no I/O, no clock, no runtime. A run leaves a history;
//! the checkers judge it; the record is the document that the run leaves.
//!
//! - [`history`]: what happened, as the driver saw it; the file format
//! - [`timeline`]: requests with their answers, holds, leases and faults, read from a history
//! - [`check`]: the checkers, one property a file
//! - [`record`]: the one document that a run leaves
//! - [`assemble`]: from history and verdicts to the record
//! - [`expectation`]: what a scenario expects of a subject, and what differs from it
//! - [`latency`]: how long the subject took

pub mod assemble;
pub mod check;
pub mod expectation;
pub mod history;
pub mod latency;
pub mod record;
pub mod timeline;

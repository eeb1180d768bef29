//! Histories, and the verdicts on them.
//!
//! Everything here is a function of data: no I/O, no clock, no runtime. A run produces a history,
//! the checkers judge it, and the record contains the result.
//!
//! - [`history`]: what happened, as the driver saw it; the file format
//! - [`timeline`]: requests with their answers, holds, leases and faults, read from a history
//! - [`custody`]: who wrote which value into the servers' keys, and how it went away
//! - [`check`]: the checkers, one property a file
//! - [`record`]: the documents that runs produce
//! - [`assemble`]: from history and verdicts to the record
//! - [`expectation`]: what a scenario expects of a lock, and what differs from it
//! - [`finds`]: what a search takes for a find, and how finds are told apart
//! - [`latency`]: how long the lock took
//! - `encoded_histogram`: that as text in a record

pub mod assemble;
pub mod check;
pub mod custody;
mod encoded_histogram;
pub mod expectation;
pub mod finds;
pub mod history;
pub mod latency;
pub mod record;
pub mod timeline;

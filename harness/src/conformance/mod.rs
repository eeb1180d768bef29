//! Checks whether an adapter conforms to the protocol: sends requests to two of its processes, which use one real
//! Redis server, and inspects the replies and the server's keys.

pub mod check;
pub mod checks;
mod client;
mod clients;
mod conformance_run;
mod exchange;
pub mod finding;
mod keys;
mod outcome;

pub use clients::ConformanceSetup;
pub use conformance_run::{ConformanceReport, check_adapter};
pub use outcome::ConformanceError;

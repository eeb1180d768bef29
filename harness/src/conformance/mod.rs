//! Does an adapter keep the protocol? Requests to two of its processes over one real Redis server,
//! and what is to be seen there.

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

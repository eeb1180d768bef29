//! Does an adapter keep the protocol? Requests to two of its processes over one real Redis server,
//! and what is to be seen there.
//!
//! - [`check`](self::check): one check
//! - [`checks`]: the table of the checks, an async function for each
//! - [`clients`]: the two processes and their server, as a check asks them
//! - [`client`]: one process of the adapter, with patience that ends
//! - [`exchange`]: a request and its answer
//! - [`keys`]: the keys of the server
//! - [`outcome`]: how a check ends
//! - [`finding`]: what came out
//! - [`conformance_run`]: server, adapter and all checks, from start to end

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

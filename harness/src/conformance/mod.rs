//! Does an adapter keep the protocol? Scripted requests to two of its processes over one real Redis
//! server, and what is to be seen there.
//!
//! - [`check`](self::check): one check, as a script and a judge, both without I/O
//! - [`script`]: what a check does, step by step
//! - [`checks`]: the table of the checks, one file each
//! - [`evidence`]: what a script has seen
//! - [`finding`]: what a judge says of it
//! - [`client`]: one process of the adapter, with patience that ends
//! - [`key_look`]: the keys of the server
//! - [`stage`]: plays a script
//! - [`conformance_run`]: server, adapter and all checks, from start to end

pub mod check;
pub mod checks;
mod client;
mod conformance_error;
mod conformance_run;
pub mod evidence;
pub mod finding;
mod key_look;
pub mod script;
mod stage;

pub use conformance_error::ConformanceError;
pub use conformance_run::{ConformanceReport, ConformanceSetup, check_adapter};

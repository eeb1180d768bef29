//! Runs locks under scenarios and records what happens.
//!
//! To test your own lock in your own test, use [`trial`]. Every run is described by a [`spec`] and goes through
//! [`run`](mod@run). `ARCHITECTURE.md` in the repository maps the modules and the imports that are allowed between
//! them. Modules that start servers or processes require the feature `servers`.
//!
//! - the plan of a run: [`spec`], [`run`](mod@run)
//! - the course of a run: [`driver`], [`nemesis`], and their shared state, [`context`]
//! - the place of a run, behind the traits of [`backend`]: [`sim`], `server_backend`, `servers`
//! - between workers and nodes: [`proxy`]
//! - the changes of keys: `key_watch`, [`monitor_replay`]
//! - programs as locks: [`adapter`], `conformance`; locks as code: [`lock_factory`], `worker`
//! - many runs: [`search`], [`trial`]
//! - the only sources of time and randomness: [`clock`], [`rng`]

pub mod adapter;
pub mod backend;
pub mod clock;
#[cfg(feature = "servers")]
pub mod conformance;
pub mod context;
pub mod driver;
pub mod external_servers;
mod key_watch;
pub mod lock_factory;
pub mod lock_kinds;
pub mod monitor_replay;
pub mod named_server;
pub mod nemesis;
mod process_stat;
pub mod proxy;
pub mod rng;
pub mod run;
mod run_result;
pub mod search;
pub mod secret;
#[cfg(feature = "servers")]
pub mod server_backend;
#[cfg(feature = "servers")]
pub mod servers;
pub mod sim;
pub mod spec;
pub mod trial;
#[cfg(feature = "servers")]
pub mod worker;

pub use picklock_impls as impls;
pub use picklock_redis_model as model;
pub use picklock_verdicts::{
    assemble, check, counterexamples, expectation, history, key_history, latency, record, timeline,
};
/// The Redis client library whose connections a lock receives, re-exported in the version that fits.
pub use redis;
pub use trial::{Outcome, Trial, TrialError, TrialRun};

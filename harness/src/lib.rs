//! Runs locks under scenarios, and records what happens.
//!
//! The modules, in the order in which a run uses them:
//!
//! - [`clock`] and [`entropy`]: the only sources of time and randomness
//! - `key_watch`: which key of which node held what, compared after each command
//! - [`monitor_replay`]: the same from what real servers tell of the commands that they execute
//! - [`adapter`]: the protocol between driver and worker
//! - [`backend`]: the interface of a backend, and what each backend supports
//! - [`wire`]: the proxy between workers and nodes
//! - [`context`]: what the driver and the nemesis share
//! - [`driver`]: the buyers, and one run from start to end
//! - [`nemesis`]: what goes wrong, and when
//! - `servers`: Redis servers as processes and in containers, and their clean-up (with the feature
//!   `servers`)
//! - [`history`]: what happened, as the driver saw it
//! - [`model`]: one Redis server as pure data, for the simulation
//! - [`check`]: the verdicts; pure functions of a history
//! - [`record`]: the one document that a run leaves
//! - [`expectation`]: what a scenario expects of a lock, and which verdicts differ
//! - [`sim`]: the simulated backend: virtual time, one process, the same driver and nemesis
//! - [`named_server`]: the servers that can be chosen by name; [`external_servers`]: those that run already
//! - [`spec`]: what is run, as one value; [`run`](mod@run): the one entry that runs it, and what came out
//! - [`lock_factory`]: the code of a lock, as a value; `worker`: a process that serves one client of it (with
//!   the feature `servers`)
//! - [`search`]: the smallest plan that breaks a lock, or how much was tried
//! - [`trial`]: your own lock through a scenario, from your own test
//! - `conformance`: does an adapter keep the protocol (with the feature `servers`)
//! - [`latency`]: how long the lock took; pure functions of a history

pub mod adapter;
pub mod backend;
pub mod clock;
#[cfg(feature = "servers")]
pub mod conformance;
pub mod context;
pub mod driver;
pub mod entropy;
pub mod external_servers;
mod key_watch;
pub mod lock_factory;
pub mod monitor_replay;
pub mod named_server;
pub mod nemesis;
mod process_stat;
pub mod run;
mod run_result;
pub mod search;
#[cfg(feature = "servers")]
pub mod server_backend;
#[cfg(feature = "servers")]
pub mod servers;
pub mod sim;
pub mod spec;
pub mod trial;
pub mod wire;
#[cfg(feature = "servers")]
pub mod worker;

pub use picklock_impls as impls;
pub use picklock_redis_model as model;
pub use picklock_verdicts::{
    assemble, check, custody, expectation, finds, history, latency, record, timeline,
};
/// The client of Redis that the nodes of a lock are connections of, in the one version that fits.
pub use redis;
pub use trial::{Outcome, Trial, TrialError, TrialRun};

//! Runs locks under scenarios, and records what happens.
//!
//! Your own lock in your own test is a [`trial`]. Any run goes through [`run`](mod@run), which takes a [`spec`].
//! `ARCHITECTURE.md` of the repository says which module is for what, and which of them imports which. What starts
//! servers or processes needs the feature `servers`.

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
pub mod monitor_replay;
pub mod named_server;
pub mod nemesis;
mod process_stat;
pub mod proxy;
pub mod rng;
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
#[cfg(feature = "servers")]
pub mod worker;

pub use picklock_impls as impls;
pub use picklock_redis_model as model;
pub use picklock_verdicts::{
    assemble, check, counterexamples, expectation, history, key_history, latency, record, timeline,
};
/// The client of Redis that the nodes of a lock are connections of, in the one version that fits.
pub use redis;
pub use trial::{Outcome, Trial, TrialError, TrialRun};

//! The simulated world: the same subjects, driver, nemesis and checkers in virtual time.
//!
//! - [`run`](fn@run): one run, on a thread of its own, watched for subjects that do not give way
//! - [`run_many`]: many of them, for a search
//! - [`SimWorld`]: hosts, network and nodes put together as a [`World`](crate::world::World)
//! - `host`: one worker; frozen or dropped whole, background tasks included
//! - `connection`, `port`: what a subject sees: a redis-rs connection
//! - `network`: the task that carries messages; `departure` and `delivery` are its two ends,
//!   `ledger` what it knows
//! - `traffic`: what is on the way, past gates and faults, in an order drawn from the seed
//! - `pen`: writes what passes into a command log, where one is wanted
//! - `node`: one Redis server: the model, its wall clock, and what its disk keeps
//!
//! Time is tokio's paused clock, which jumps to the next event. The network keeps its own times in
//! nanoseconds, so that two messages are never in a tie by accident; what workers see of the clock
//! moves in steps of a millisecond, because tokio's timers do.
//!
//! What this room does not do: it opens no socket, reads no real clock into a history, and starts
//! no process. What does not follow from seed and scenario does not reach the history.

mod alarm;
mod args;
mod batch;
mod connection;
mod delivery;
mod departure;
mod desk;
mod host;
mod ledger;
mod network;
mod node;
mod pen;
mod port;
mod runner;
mod subject;
mod traffic;
mod wall;
mod watchdog;
mod world;

pub use batch::{run_many, run_with_patience};
pub use runner::{SimError, Simulation, run};
pub use subject::Subject;
pub use world::SimWorld;

//! How a run happens, and what was seen.
//!
//! The rooms, in the order in which a run passes through them:
//!
//! - [`clock`] and [`entropy`]: the one place each where time and randomness come from
//! - [`adapter`]: what driver and worker say to each other
//! - [`world`]: what a world must be able to do
//! - [`wire`]: the proxy between workers and nodes
//! - [`context`]: what driver and nemesis share
//! - [`driver`]: the buyers, and one run from start to end
//! - [`nemesis`]: what goes wrong, and when
//! - [`real`]: Redis servers as processes and in containers, and nothing that outlives the run
//! - [`history`]: what happened, as the driver saw it
//! - [`model`]: one Redis server as pure data, for the simulation
//! - [`check`]: what it means; pure functions of a history
//! - [`record`]: the one document that a run leaves
//! - [`expectation`]: what a scenario expects of a subject, and what came out otherwise
//! - [`sim`]: the simulated world: virtual time, one process, the same driver and nemesis
//! - [`trial`]: your own lock through a scenario, from a test of your own
//! - [`latency`]: how long the subject took; pure functions of a history

pub mod adapter;
pub mod clock;
pub mod context;
pub mod driver;
pub mod entropy;
pub mod nemesis;
mod process_stat;
pub mod real;
pub mod real_world;
pub mod sim;
pub mod trial;
pub mod wire;
pub mod world;

pub use picklock_redis_model as model;
pub use picklock_verdicts::{assemble, check, expectation, history, latency, record, timeline};
pub use trial::{Outcome, Trial, TrialError, TrialRun};

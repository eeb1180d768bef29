//! How a run happens, and what was seen.
//!
//! The rooms, in the order in which a run passes through them:
//!
//! - [`clock`] and [`entropy`]: the one place each where time and randomness come from
//! - [`adapter`]: what driver and worker say to each other
//! - [`history`]: what happened, as the driver saw it
//! - [`model`]: one Redis server as pure data, for the simulation
//! - [`check`]: what it means; pure functions of a history

pub mod adapter;
pub mod check;
pub mod clock;
pub mod entropy;
pub mod history;
pub mod model;
pub mod record;

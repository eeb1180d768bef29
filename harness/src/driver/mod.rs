//! The driver: competing buyers under a lock, the same code in every world.

mod buyer;
mod conversation;
mod probe;
mod recorder;
mod roster;
mod run;
mod stage;
mod stock;

pub use recorder::{Listener, Recorder};
pub use run::{Ran, RunError, Setup, run};
pub use stage::{Plan, Stage};

//! The driver: competing buyers under a lock, the same code in every world.

mod buyer;
mod conversation;
mod probe;
mod run;
mod shelf;
mod stall;

pub use run::{Ran, RunError, Setup, run};

//! The driver: competing buyers under a lock, the same code in every world.

mod asking;
mod buyer;
mod conversation;
mod hiring;
mod probe;
mod run;
mod section;
mod shelf;
mod stall;

pub use run::{Ran, RunError, Setup, run};

//! The nemesis: what makes things go wrong, and when.
//!
//! - `schedule`: when faults start and end
//! - `apply`: the actions of a fault, to everything that it strikes
//! - `clocks`: by how much each wall clock is off
//! - `sentinels`: the failover that the Sentinels decide
//! - `silences`: the proof that a worker was frozen or dead
//! - `ongoing`: the faults that have started, and what must be undone; `undo` does it

mod apply;
mod clocks;
mod ongoing;
mod schedule;
mod sentinels;
mod silences;
mod undo;

pub use schedule::Nemesis;
pub use sentinels::tell_unasked_failovers;

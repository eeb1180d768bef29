//! The nemesis: what makes things go wrong, and when.
//!
//! - `schedule`: when faults start and end
//! - `apply`: the actions of a fault, to everything that it strikes
//! - `clocks`: by how much each wall clock is off
//! - `sentinels`: the failover that the Sentinels decide
//! - `freeze_monitor`: the proof that a worker was frozen or dead
//! - `active_faults`: the faults that have started, and what must be undone; `undo` does it

mod active_faults;
mod apply;
mod clocks;
mod freeze_monitor;
mod schedule;
mod sentinels;
mod undo;

pub use schedule::Nemesis;
pub use sentinels::record_unrequested_failovers;

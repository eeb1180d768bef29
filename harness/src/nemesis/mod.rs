//! The nemesis, which makes faults happen.
//!
//! - `schedule`: when faults start and end
//! - `apply`: the actions of a fault on all of its targets
//! - `clocks`: the offset of each wall clock
//! - `sentinels`: the failover that the Sentinels decide
//! - `frozen_workers`: which fault has frozen or killed which worker, and whether the worker sent data anyway
//! - `active_faults`: the active faults and their undo steps, which `undo` executes

mod active_faults;
mod apply;
mod clocks;
mod frozen_workers;
mod schedule;
mod sentinels;
mod undo;

pub use schedule::Nemesis;
pub use sentinels::record_unrequested_failovers;

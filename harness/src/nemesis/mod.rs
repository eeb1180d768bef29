//! The nemesis, which makes faults happen.
//!
//! - `schedule`: when faults start and end
//! - `apply`: the actions of a fault on all of its targets
//! - `clocks`: the offset of each wall clock
//! - `sentinels`: the failover that the Sentinels decide
//! - `freeze_monitor`: checks that frozen or dead workers send no data
//! - `active_faults`: the active faults and their undo steps, which `undo` executes

mod active_faults;
mod apply;
mod clocks;
mod freeze_monitor;
mod schedule;
mod sentinels;
mod undo;

pub use schedule::Nemesis;
pub use sentinels::record_unrequested_failovers;

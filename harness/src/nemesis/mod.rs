//! The nemesis: what makes things go wrong, and when.
//!
//! - `schedule`: when faults start and end
//! - `apply`: the actions of a fault, to everything that it strikes
//! - `workers`, `nodes`, `links`, `clocks`, `data`: one action to one target each
//! - `sentinels`: the failover that the Sentinels decide
//! - `silences`: the proof that a worker was frozen or dead
//! - `ongoing`: the faults that have started, and what must be undone

mod apply;
mod clocks;
mod data;
mod links;
mod nodes;
mod ongoing;
mod schedule;
mod sentinels;
mod silences;
mod undo;
mod workers;

pub use schedule::Nemesis;

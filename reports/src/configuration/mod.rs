//! `picklock.toml`: its tables, and errors that point into it.
//!
//! Which locks, scenarios and programs the names in it mean is for the front door to say.

pub mod configured_limits;
pub mod configured_rules;
pub mod source;
pub mod tables;

pub use configured_rules::ConfiguredRules;
pub use source::Source;
pub use tables::{CellsTable, ImplTable, LockTable, Tables};

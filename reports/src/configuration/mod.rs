//! Parses `picklock.toml`: its tables, and errors that point into it.
//!
//! The binary resolves the names of locks, scenarios and programs in it.

pub mod configured_limits;
pub mod configured_rules;
pub mod source;
pub mod tables;

pub use configured_rules::ConfiguredRules;
pub use source::Source;
pub use tables::{CellsTable, ImplTable, LockTable, Tables};

//! `picklock.toml`: its tables, and errors that point into it.
//!
//! - [`tables`]: the tables as they stand in the file
//! - [`configured_rules`]: what is expected of the configured cells
//! - [`configured_limits`], [`limit_text`]: a `[[limit]]` table, and its older form
//! - [`source`]: errors that point into a user's file
//!
//! Which locks, scenarios and programs the names in it mean is for the front door to say.

pub mod configured_limits;
pub mod configured_rules;
pub mod limit_text;
pub mod source;
pub mod tables;

pub use configured_rules::ConfiguredRules;
pub use source::Source;
pub use tables::{CellsTable, ImplTable, LockTable, Tables};

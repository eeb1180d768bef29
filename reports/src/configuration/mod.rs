//! `picklock.toml`: its tables, and errors that point into it.
//!
//! - [`tables`], [`expect_table`]: the tables as they stand in the file
//! - [`configured_rules`]: what they expect and limit, checked against the configured cells
//! - [`source`]: errors that point into a user's file
//!
//! Which locks, scenarios and programs the names in it mean is for the front door to say.

pub mod configured_rules;
pub mod expect_table;
pub mod source;
pub mod tables;

pub use configured_rules::ConfiguredRules;
pub use expect_table::ExpectTable;
pub use source::Source;
pub use tables::{CellsTable, ImplTable, Tables};

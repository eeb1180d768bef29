//! `picklock.toml`: the user's locks, and what the gate requires of them.
//!
//! - [`tables`], [`expect_table`]: the tables as they stand in the file
//! - [`configured_impl`]: a lock of an `[impl.NAME]` table
//! - [`configured_impls`]: all of them, for the commands that take the name of a lock
//!
//! `--config FILE` names the file, for every command that reads it. Without it, it is the
//! `picklock.toml` of the current directory; no other directory is searched.

pub mod configured_impl;
pub mod configured_impls;
pub mod expect_table;
pub mod tables;

use std::io;
use std::path::Path;

use crate::exit::Failure;
use crate::regular_file::{self, LONGEST_TEXT, Links};
use crate::source::Source;
use tables::Tables;

/// The file that is read where `--config` names none.
pub const DEFAULT_FILE: &str = "picklock.toml";

/// Reads the text of a configuration.
///
/// # Errors
/// It is no regular file, too long, or not UTF-8.
pub fn read(path: &Path) -> io::Result<Source> {
    let text = regular_file::read(path, LONGEST_TEXT, Links::Followed)?;
    let file = path.display().to_string();
    Ok(Source { file, text })
}

/// The error for a configuration that cannot be read.
pub fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::Usage(format!(
        "{}: cannot read the configuration: {error}\n  = help: docs/gate.md has an example; --config names another file",
        path.display()
    ))
}

/// The tables of a configuration.
///
/// # Errors
/// The first mistake, with its line and the nearest valid word.
pub fn tables(source: &Source) -> Result<Tables, Failure> {
    toml::from_str(&source.text).map_err(|error| source.unreadable(&error))
}

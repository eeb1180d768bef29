//! `picklock.toml`: the user's locks, and what the gate requires of them.
//!
//! - [`configured_lock`]: a lock of an `[impl.NAME]` table
//! - [`configured_locks`]: all of them, for the commands that take the name of a lock
//!
//! `--config FILE` names the file, for every command that reads it. The default is the `picklock.toml` of the current
//! directory; no other directory is searched.

pub mod configured_lock;
pub mod configured_locks;

use std::io;
use std::path::Path;

use picklock_reports::configuration::Source;
use picklock_reports::inert;

use crate::exit::Failure;
use crate::untrusted_file::{self, Links, MAX_TEXT_LENGTH};

/// The file that is read without `--config`.
pub const DEFAULT_FILE: &str = "picklock.toml";

/// Reads the text of a configuration.
///
/// # Errors
/// Returns an error if it is not a regular file, is too long, or is not UTF-8.
pub fn read(path: &Path) -> io::Result<Source> {
    let text = untrusted_file::read(path, MAX_TEXT_LENGTH, Links::Followed)?;
    let file = path.display().to_string();
    Ok(Source { file, text })
}

/// Creates the error for a configuration that cannot be read.
pub fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::Usage(inert!(
        "{}: cannot read the configuration: {}\n  = help: `picklock init --lang python my-lock` writes one with an adapter; `picklock docs gate` explains it; --config names another file",
        path.display(),
        error
    ))
}

//! What was found out about libraries that other people wrote, as one page of Markdown.
//!
//! The matrices have the figures, and a file for each library has the words: its promise, and how a
//! violation is to be read.

mod hypotheses;
mod page;
mod tally;
mod violations;

use crate::formats::{File, Format, FormatError};
use crate::report_input::ReportInput;

pub use hypotheses::Decision;
pub use tally::Seen;

/// `--format findings`.
pub const FORMAT: Format = Format {
    name: "findings",
    ending: ".md",
    about: "what matrices say about libraries, with a findings.toml for each: findings.md",
    write: files,
};

/// `findings.md`.
///
/// # Errors
/// The input has no file about a library.
pub fn files(input: &ReportInput) -> Result<Vec<File>, FormatError> {
    if input.libraries.is_empty() {
        return Err(FormatError::Nothing {
            format: FORMAT.name,
            reason: "no library: name its findings.toml beside the matrices",
        });
    }
    Ok(vec![File {
        name: "findings.md".to_owned(),
        bytes: page::page(input).into_bytes(),
    }])
}

//! The table of report formats: one file and one line per format.
//!
//! Every format is a function from [`ReportInput`] to files. The caller decides where the files are written.

use crate::report_input::ReportInput;

/// One file of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Path relative to the report's directory, with `/` between folders.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// An error while a report is written in a format.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the messages describe the variants, and the names their fields"
)]
pub enum FormatError {
    #[error("{format}: there is nothing to write: {reason}")]
    Nothing {
        format: &'static str,
        /// Description of the missing input, and how to get it.
        reason: &'static str,
    },
    #[error("the {operation} histogram of {cell} cannot be read: {reason}")]
    Histogram {
        /// Name of the cell.
        cell: String,
        operation: String,
        reason: String,
    },
    /// The library that writes the format failed.
    #[error("{format}: {reason}")]
    Refused {
        format: &'static str,
        reason: String,
    },
}

/// A report format.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Its name for `--format`.
    pub name: &'static str,
    /// The extension of its files.
    pub ending: &'static str,
    /// Its purpose, in one line.
    pub about: &'static str,
    /// Creates its files.
    pub write: fn(&ReportInput) -> Result<Vec<File>, FormatError>,
}

/// All formats, in the order of the help. A new format is a module of the crate and a line here.
pub const FORMATS: &[Format] = &[
    crate::html::FORMAT,
    crate::markdown::FORMAT,
    crate::document_files::FORMAT,
    crate::junit::FORMAT,
    crate::trace::FORMAT,
];

/// Returns the format called `name`.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

//! The table of report formats: one file and one line per format.
//!
//! Every format is a function from [`ReportInput`] to files. It does not know where they go.

use crate::report_input::ReportInput;

/// One file of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path relative to the report's directory; folders are separated by `/`.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Why a report cannot be written in a format.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the messages say what each is, and the names what is in it"
)]
pub enum FormatError {
    #[error("{format}: there is nothing to write: {reason}")]
    Nothing {
        format: &'static str,
        /// What is missing, and how to get it.
        reason: &'static str,
    },
    #[error("the {operation} histogram of {cell} cannot be read: {reason}")]
    Histogram {
        /// The cell, in words.
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

/// The table of formats, in the order of the help. A new format is a file beside this
/// one and a line here.
///
/// `formats!(rows)` calls the macro `rows` with the whole table; the crate declares its files from
/// it.
macro_rules! formats {
    ($rows:ident) => {
        $rows! {
            html,
            markdown,
            document_files,
            junit,
            trace,
        }
    };
}
pub(crate) use formats;

macro_rules! list_of_formats {
    ($($file:ident,)*) => {
        /// All formats, in the order of the help.
        pub const FORMATS: &[Format] = &[$(crate::$file::FORMAT),*];
    };
}
formats!(list_of_formats);

/// The format of that name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

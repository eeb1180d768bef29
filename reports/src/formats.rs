//! The report formats: one file each, one line in the table.
//!
//! Every format is a function from [`ReportInput`] to files. It knows nothing of where they go.

use crate::report_input::ReportInput;

/// One file of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Where it belongs, relative to the report's directory; folders are parted by `/`.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// Why there is no report in a format.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The input has nothing that this format could show.
    #[error("{format}: there is nothing to write: {reason}")]
    Nothing {
        /// Name of the format.
        format: &'static str,
        /// What is missing, and how to get it.
        reason: &'static str,
    },
    /// A histogram of a record does not decode.
    #[error("the {operation} histogram of {cell} cannot be read: {reason}")]
    Histogram {
        /// The cell, in words.
        cell: String,
        /// The operation.
        operation: String,
        /// What the decoder said.
        reason: String,
    },
    /// The library that writes the format refused.
    #[error("{format}: {reason}")]
    Refused {
        /// Name of the format.
        format: &'static str,
        /// What the library said.
        reason: String,
    },
}

/// A report format.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Its name after `--format`.
    pub name: &'static str,
    /// How its files end.
    pub ending: &'static str,
    /// What it is for, in one line.
    pub about: &'static str,
    /// Writes it.
    pub write: fn(&ReportInput) -> Result<Vec<File>, FormatError>,
}

/// The table of formats, in the order in which people read them. A new format is a file beside this
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
            hgrm,
            hlog,
            trace,
        }
    };
}
pub(crate) use formats;

macro_rules! list_of_formats {
    ($($file:ident,)*) => {
        /// All formats, in the order in which people read them.
        pub const FORMATS: &[Format] = &[$(crate::$file::FORMAT),*];
    };
}
formats!(list_of_formats);

/// The format of that name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

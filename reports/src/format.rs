//! A report format: a function from [`ReportInput`] to files. The caller decides where the files are written.

use crate::escape::visible_json;
use crate::inert::Inert;
use crate::report_input::ReportInput;

/// One file of a report. Its content consists only of text that is inert in its format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Path relative to the report's directory, with `/` between folders.
    pub name: String,
    bytes: Vec<u8>,
}

impl File {
    /// Creates a file of text, such as Markdown or XML.
    pub fn text(name: impl Into<String>, text: Inert) -> File {
        File {
            name: name.into(),
            bytes: text.checked().as_str().as_bytes().to_owned(),
        }
    }

    /// Creates a JSON document, which ends with a line break.
    pub fn json(name: impl Into<String>, document: String) -> File {
        let mut text = visible_json(document);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        File {
            name: name.into(),
            bytes: text.into_bytes(),
        }
    }

    /// Creates an HTML page. Its template escapes every text for HTML.
    pub(crate) fn page(name: &str, html: String) -> File {
        File {
            name: name.to_owned(),
            bytes: html.into_bytes(),
        }
    }

    /// Returns the content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
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
        /// Description of the missing input, with advice on how to get it.
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

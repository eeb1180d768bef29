//! The table of report formats: one file and one line per format.
//!
//! Every format is a function from [`ReportInput`] to files. It does not know where they go.

use crate::report_input::ReportInput;
use crate::{document_files, hgrm, hlog, html, junit, markdown, trace};

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
pub enum FormatError {
    /// The input has nothing that this format can show.
    #[error("{format}: there is nothing to write: {reason}")]
    Nothing {
        /// Name of the format.
        format: &'static str,
        /// What is missing, and how to get it.
        reason: &'static str,
    },
    /// A histogram in a record does not decode.
    #[error("the {operation} histogram of {cell} cannot be read: {reason}")]
    Histogram {
        /// The cell, in words.
        cell: String,
        /// The operation.
        operation: String,
        /// The decoder's message.
        reason: String,
    },
    /// The library that writes the format failed.
    #[error("{format}: {reason}")]
    Refused {
        /// Name of the format.
        format: &'static str,
        /// The library's message.
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

/// All formats, in the order of the help.
pub const FORMATS: &[Format] = &[
    Format {
        name: "html",
        ending: ".html",
        about: "one page for a browser, offline: matrix, stories, timelines, latencies",
        write: html::files,
    },
    Format {
        name: "md",
        ending: ".md",
        about: "Markdown, worst first: report.md fits a GitHub job summary, comment.md a comment",
        write: markdown::files,
    },
    Format {
        name: "json",
        ending: ".json",
        about: "the JSON documents: matrix.json, and the record of each kept run under runs/",
        write: document_files::files,
    },
    Format {
        name: "junit",
        ending: ".xml",
        about: "JUnit XML for CI servers: suite = subject, case = scenario and world",
        write: junit::files,
    },
    Format {
        name: "hgrm",
        ending: ".hgrm",
        about: "percentile distributions for HdrHistogram's plotters, one file per cell and operation",
        write: hgrm::files,
    },
    Format {
        name: "hlog",
        ending: ".hlog",
        about: "one HdrHistogram interval log with all histograms, distinguished by tags",
        write: hlog::files,
    },
    Format {
        name: "trace",
        ending: ".trace.json",
        about: "a timeline of each kept run that ui.perfetto.dev opens",
        write: trace::files,
    },
];

/// The format of that name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

//! The report formats: one file each, one line in the table.
//!
//! Every format is a function from [`ReportInput`] to files. It knows nothing of where they go.

use crate::report_input::ReportInput;
use crate::{document_files, hgrm, hlog, html, junit, markdown, trace};

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

/// All formats, in the order in which people read them.
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
        about: "the documents themselves: matrix.json, and each kept run's under runs/",
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
        about: "percentile distributions for HdrHistogram's plotters, one file a cell and operation",
        write: hgrm::files,
    },
    Format {
        name: "hlog",
        ending: ".hlog",
        about: "one HdrHistogram interval log with all histograms, told apart by tags",
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

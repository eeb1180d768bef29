//! Reads and writes the JSON documents of a run, a matrix and a search. The `format` key identifies the kind.

use picklock_verdicts::record::{
    FORMAT, MATRIX_FORMAT, MatrixRecord, RunRecord, SEARCH_FORMAT, SearchRecord,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::escape::{self, visible_json};
use crate::scorecard::Scorecard;

/// A document from which reports are made.
#[derive(Debug, Clone)]
pub enum Document {
    /// One run.
    Run(Box<RunRecord>),
    /// Many cells.
    Matrix(Box<MatrixRecord>),
    /// Many plans for one lock.
    Search(Box<SearchRecord>),
}

/// An error for a text that is not a valid document.
#[derive(Debug, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the messages describe the variants, and the names their fields"
)]
pub enum DocumentError {
    #[error("the file is empty; the run that should have written it did not finish")]
    Empty,
    #[error("the file is truncated: it ends in the middle of the document, at line {line}")]
    Truncated {
        /// The last line, from 1.
        line: usize,
    },
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    NotJson(serde_json::Error),
    #[error("not a picklock document: {found}; expected {expected}")]
    Foreign { found: String, expected: String },
    #[error(
        "its format is {found:?}, and this picklock reads \"{expected}\": use the version that wrote it, or a newer one"
    )]
    OtherVersion {
        found: String,
        expected: &'static str,
    },
    #[error("not a valid {expected} document: {reason}")]
    Invalid {
        expected: &'static str,
        /// The parser's message, with the position.
        reason: serde_json::Error,
    },
    #[error("not a valid {MATRIX_FORMAT} document: {reason}")]
    Contradiction { reason: String },
}

/// Formats a record as one indented JSON document without a newline at the end. Keys keep the order of the
/// fields.
pub fn json(record: &impl Serialize) -> String {
    let document = serde_json::to_string_pretty(record)
        .expect("a record holds only text, numbers, and maps keyed by words");
    visible_json(document)
}

/// Formats a matrix as one JSON document. It includes the scorecard, which is computed from the cells and
/// ignored when the document is read.
pub fn matrix_json(record: &MatrixRecord) -> String {
    #[derive(Serialize)]
    struct Document<'a> {
        #[serde(flatten)]
        record: &'a MatrixRecord,
        #[serde(skip_serializing_if = "Option::is_none")]
        scorecard: Option<Scorecard>,
    }
    json(&Document {
        record,
        scorecard: Scorecard::from_matrix(record),
    })
}

/// Reads the record of a run, a matrix or a search.
///
/// # Errors
/// Returns an error if the text is empty, truncated, invalid, or of another format or version.
pub fn read(text: &str) -> Result<Document, DocumentError> {
    match format_of(text)?.as_deref() {
        Some(FORMAT) => {
            let mut run: Box<RunRecord> = valid(text, FORMAT)?;
            hide_foreign_command(&mut run.reproduce);
            Ok(Document::Run(run))
        }
        Some(MATRIX_FORMAT) => {
            let mut matrix: Box<MatrixRecord> = valid(text, MATRIX_FORMAT)?;
            hide_foreign_command(&mut matrix.reproduce);
            for cell in &mut matrix.cells {
                hide_foreign_command(&mut cell.reproduce);
            }
            match matrix.contradiction() {
                None => Ok(Document::Matrix(matrix)),
                Some(reason) => Err(DocumentError::Contradiction { reason }),
            }
        }
        Some(SEARCH_FORMAT) => {
            let mut search: Box<SearchRecord> = valid(text, SEARCH_FORMAT)?;
            hide_foreign_command(&mut search.reproduce);
            for find in &mut search.counterexamples {
                hide_foreign_command(&mut find.reproduce);
            }
            Ok(Document::Search(search))
        }
        other => Err(unread(other)),
    }
}

/// Replacement for the repeat command of a document if Picklock cannot have written that command.
const HIDDEN_COMMAND: &str =
    "# not shown: the command in this file is not in the form that picklock writes";

/// Replaces the command of an untrusted document, unless the command only starts Picklock.
fn hide_foreign_command(reproduce: &mut String) {
    if !reproduce.lines().all(escape::is_picklock_command) {
        HIDDEN_COMMAND.clone_into(reproduce);
    }
}

/// Returns the value of the document's `format` key, if it has one.
fn format_of(text: &str) -> Result<Option<String>, DocumentError> {
    if text.trim().is_empty() {
        return Err(DocumentError::Empty);
    }
    let value: Value = serde_json::from_str(text).map_err(|error| {
        if error.is_eof() {
            DocumentError::Truncated { line: error.line() }
        } else {
            DocumentError::NotJson(error)
        }
    })?;
    let format = value.get("format").and_then(Value::as_str);
    Ok(format.map(str::to_owned))
}

/// Parses the whole text, because only the error of this parser has a line and a column.
fn valid<T: DeserializeOwned>(text: &str, expected: &'static str) -> Result<Box<T>, DocumentError> {
    serde_json::from_str(text)
        .map(Box::new)
        .map_err(|reason| DocumentError::Invalid { expected, reason })
}

fn unread(format: Option<&str>) -> DocumentError {
    let known = [FORMAT, MATRIX_FORMAT, SEARCH_FORMAT];
    let expected = known.map(|it| format!("\"{it}\"")).join(" or ");
    let Some(format) = format else {
        return DocumentError::Foreign {
            found: "there is no format key".to_owned(),
            expected,
        };
    };
    // A foreign format key may be a megabyte long, too long for an error.
    let found: String = format.chars().take(60).collect();
    let is_of_family = |known: &&str| known.split('/').next() == format.split('/').next();
    match known.into_iter().find(is_of_family) {
        Some(expected) => DocumentError::OtherVersion { found, expected },
        None => DocumentError::Foreign {
            found: format!("its format is {found:?}"),
            expected,
        },
    }
}

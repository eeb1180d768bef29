//! Documents as they are found: a run's or a matrix's, told apart by their `format` key.

use picklock_verdicts::record::{FORMAT, MATRIX_FORMAT, MatrixRecord, RunRecord};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A document that reports can be made of.
#[derive(Debug, Clone)]
pub enum Document {
    /// One run.
    Run(Box<RunRecord>),
    /// Many cells.
    Matrix(Box<MatrixRecord>),
}

/// Why a text is neither.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// There is nothing in it.
    #[error("the file is empty; the run that should have filled it did not end well")]
    Empty,
    /// It ends too early.
    #[error("the file is truncated: it ends in the middle of the document, at line {line}")]
    Truncated {
        /// The last line, counted from 1.
        line: usize,
    },
    /// Not JSON at all.
    #[error("not JSON: {0}")]
    NotJson(serde_json::Error),
    /// JSON of something else.
    #[error("not a document of picklock: {found}; expected \"{FORMAT}\" or \"{MATRIX_FORMAT}\"")]
    Foreign {
        /// What its format says.
        found: String,
    },
    /// A document of another version.
    #[error(
        "its format is {found:?}, and this picklock reads \"{expected}\": use the picklock that made it, or a newer one"
    )]
    OtherVersion {
        /// What its format says.
        found: String,
        /// What is read here.
        expected: &'static str,
    },
    /// The right format, but not what the format promises.
    #[error("not a valid {expected} document: {reason}")]
    Invalid {
        /// The format that it claims.
        expected: &'static str,
        /// What is wrong, and where.
        reason: serde_json::Error,
    },
}

/// Reads a run record or a matrix record.
///
/// # Errors
/// Says whether the text is empty, cut short, something else, of another version, or where it is
/// wrong.
pub fn read(text: &str) -> Result<Document, DocumentError> {
    if text.trim().is_empty() {
        return Err(DocumentError::Empty);
    }
    let value: Value = serde_json::from_str(text).map_err(|error| match error.is_eof() {
        true => DocumentError::Truncated { line: error.line() },
        false => DocumentError::NotJson(error),
    })?;
    let format = value.get("format").and_then(Value::as_str);
    match format {
        Some(FORMAT) => valid(text, FORMAT).map(Document::Run),
        Some(MATRIX_FORMAT) => valid(text, MATRIX_FORMAT).map(Document::Matrix),
        other => Err(unread(other)),
    }
}

/// From the text again, not from the value: only so does the error tell line and column.
fn valid<T: DeserializeOwned>(text: &str, expected: &'static str) -> Result<Box<T>, DocumentError> {
    serde_json::from_str(text)
        .map(Box::new)
        .map_err(|reason| DocumentError::Invalid { expected, reason })
}

fn unread(format: Option<&str>) -> DocumentError {
    let Some(format) = format else {
        return DocumentError::Foreign {
            found: "it has no format key".to_owned(),
        };
    };
    // A stranger's format may be a megabyte long; nobody wants to read it in an error.
    let found: String = format.chars().take(60).collect();
    let family = |known: &'static str| known.split('/').next() == format.split('/').next();
    match [FORMAT, MATRIX_FORMAT]
        .into_iter()
        .find(|known| family(known))
    {
        Some(expected) => DocumentError::OtherVersion { found, expected },
        None => DocumentError::Foreign {
            found: format!("its format is {found:?}"),
        },
    }
}

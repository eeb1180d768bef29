//! The JSON document of a run.

use picklock_verdicts::record::{FORMAT, RunRecord};
use serde_json::Value;

use crate::escape::visible_json;

/// Why a text is not a run record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Not JSON at all.
    #[error("not JSON: {0}")]
    NotJson(serde_json::Error),
    /// JSON, but not a run record.
    #[error("not a run record: expected an object with \"format\": \"{FORMAT}\"")]
    NoFormat,
    /// A document of another kind, or of another program.
    #[error("not a run record: its format is {0:?}; expected \"{FORMAT}\"")]
    Foreign(String),
    /// A run record of another version.
    #[error(
        "a run record of another version: its format is {0:?}, this picklock reads \"{FORMAT}\"; use the picklock that made it, or a newer one"
    )]
    OtherVersion(String),
    /// The right format, but invalid content.
    #[error("not a valid {FORMAT} document: {0}")]
    Invalid(serde_json::Error),
}

/// The run as one JSON document, indented, without a newline at the end.
///
/// Keys keep the order of the record's fields.
pub fn run_json(record: &RunRecord) -> String {
    let document = serde_json::to_string_pretty(record)
        .expect("a run record holds only text, numbers, and maps keyed by words");
    visible_json(document)
}

/// Reads a run back from what [`run_json`] wrote.
///
/// # Errors
/// The text is not JSON, not a run record, of another version, or invalid.
pub fn parse(text: &str) -> Result<RunRecord, RecordError> {
    let document: Value = serde_json::from_str(text).map_err(RecordError::NotJson)?;
    let format = document
        .get("format")
        .and_then(Value::as_str)
        .ok_or(RecordError::NoFormat)?;
    if format != FORMAT {
        return Err(other_format(format));
    }
    // Parses the text again, because only this error has a line and a column.
    serde_json::from_str(text).map_err(RecordError::Invalid)
}

fn other_format(format: &str) -> RecordError {
    let family = FORMAT.split('/').next();
    // A foreign format key may be a megabyte long, too long for an error.
    let named: String = format.chars().take(60).collect();
    if format.split('/').next() == family {
        RecordError::OtherVersion(named)
    } else {
        RecordError::Foreign(named)
    }
}

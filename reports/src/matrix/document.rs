//! The JSON document of a matrix.

use picklock_verdicts::record::MatrixRecord;

use crate::escape::visible_json;

/// The matrix as one JSON document, indented, without a final newline.
///
/// Keys keep the order of the record's fields.
pub fn matrix_json(record: &MatrixRecord) -> String {
    let document = serde_json::to_string_pretty(record)
        .expect("a matrix record holds only text, numbers, and maps keyed by words");
    visible_json(document)
}

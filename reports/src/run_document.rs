//! The JSON document of a run.

use picklock_verdicts::record::RunRecord;

use crate::escape::visible_json;

/// The run as one JSON document, indented, without a newline at the end.
///
/// Keys keep the order of the record's fields.
pub fn run_json(record: &RunRecord) -> String {
    let document = serde_json::to_string_pretty(record)
        .expect("a run record holds only text, numbers, and maps keyed by words");
    visible_json(document)
}

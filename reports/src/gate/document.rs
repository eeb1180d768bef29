//! The JSON document of a decision.

use serde::Serialize;

use super::decide::{Decision, Outcome};

/// Format and version of a decision.
pub const GATE_FORMAT: &str = "picklock-gate/1";

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    picklock: &'static str,
    outcome: Outcome,
    #[serde(flatten)]
    decision: &'a Decision,
}

/// The decision as one JSON document, indented, without a newline at the end.
pub fn gate_json(decision: &Decision) -> String {
    let document = Document {
        format: GATE_FORMAT,
        picklock: env!("CARGO_PKG_VERSION"),
        outcome: decision.outcome(),
        decision,
    };
    serde_json::to_string_pretty(&document)
        .expect("a decision holds only text, numbers, and maps keyed by words")
}

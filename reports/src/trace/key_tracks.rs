//! A track for each key of each node: whose value it had, and why that ended.

use picklock_verdicts::history::History;
use picklock_verdicts::key_history::ValueSpan;
use serde_json::{Value, json};

use super::event::{TraceWriter, complete, track};
use crate::escape::visible;
use crate::node_lanes::{command_in_words, end_in_words, node_lanes};

/// Writes the tracks under the process `pid`; nothing if the history has no key history.
pub(super) fn keys(history: &History, pid: u32, events: &mut TraceWriter) {
    let lanes = node_lanes(history).unwrap_or_default();
    if !lanes.is_empty() {
        events.push(track("process_name", pid, 0, "keys of nodes".into()));
    }
    for (tid, lane) in lanes.iter().enumerate() {
        let key = visible(lane.key.text(&history.header.keys));
        let name = format!("node {}: {key}", lane.node);
        events.push(track("thread_name", pid, tid, name));
        for span in &lane.values {
            let who = span.author.as_ref().map_or_else(
                || "nobody who was seen".to_owned(),
                |author| format!("worker {}", author.worker),
            );
            let times = (span.from_ns, span.until_ns);
            events.push(complete(who, "value", (pid, tid), times, about(span)));
        }
    }
}

fn about(span: &ValueSpan) -> Value {
    let by = |command| visible(&command_in_words(command)).into_owned();
    json!({
        "value": visible(&span.value),
        "written_by": span.author.as_ref().map(by),
        "ttl_ms": span.expiry.map(|expiry| expiry.ttl_ms),
        "ended": match end_in_words(&span.end) {
            "" => "with the run",
            words => words,
        },
        "ended_by": span.end.by().map(by),
    })
}

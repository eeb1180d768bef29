//! A track for each key of each node: the authors of its values, and the reasons for their ends.

use picklock_verdicts::history::History;
use picklock_verdicts::key_history::ValueSpan;
use serde_json::{Value, json};

use super::event::{TraceWriter, complete, track};
use crate::escape::visible;
use crate::node_lanes::{describe_command, describe_end, node_lanes};

/// Writes the tracks of the process `pid`. Writes nothing if the history has no key history.
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
            let author = span.author.as_ref().map_or_else(
                || "unknown author".to_owned(),
                |author| format!("client {}", author.worker),
            );
            let times = (span.from_ns, span.until_ns);
            events.push(complete(author, "value", (pid, tid), times, about(span)));
        }
    }
}

fn about(span: &ValueSpan) -> Value {
    let by = |command| visible(&describe_command(command)).into_owned();
    json!({
        "value": visible(&span.value),
        "written_by": span.author.as_ref().map(by),
        "ttl_ms": span.expiry.map(|expiry| expiry.ttl_ms),
        "ended": match describe_end(&span.end) {
            "" => "with the run",
            words => words,
        },
        "ended_by": span.end.by().map(by),
    })
}

//! The events of a trace, and how they are written.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

/// One event of the trace. The field names are those of the format.
#[derive(Debug, Default, Serialize)]
pub(super) struct TraceEvent<'a> {
    pub(super) name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) cat: &'static str,
    pub(super) ph: char,
    pub(super) ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dur: Option<f64>,
    pub(super) pid: u32,
    pub(super) tid: usize,
    /// The scope of an instant: its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) s: Option<char>,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(super) args: Value,
}

/// Writes a trace event by event, because a million of them would take several times the memory of their
/// text.
#[derive(Default)]
pub(super) struct TraceWriter {
    text: Vec<u8>,
    /// The first serialization error.
    error: Option<serde_json::Error>,
}

impl TraceWriter {
    pub(super) fn push(&mut self, event: TraceEvent<'_>) {
        let separator: &[u8] = if self.text.is_empty() {
            br#"{"traceEvents":["#
        } else {
            b",\n"
        };
        self.text.extend_from_slice(separator);
        if let Err(error) = serde_json::to_writer(&mut self.text, &event) {
            self.error.get_or_insert(error);
        }
    }

    pub(super) fn extend<'a>(&mut self, events: impl IntoIterator<Item = TraceEvent<'a>>) {
        for event in events {
            self.push(event);
        }
    }

    /// Returns the whole document. It is never empty, because it has the names of the tracks.
    pub(super) fn close(mut self, other: &Value) -> Result<Vec<u8>, serde_json::Error> {
        self.text
            .extend_from_slice(br#"],"displayTimeUnit":"ms","otherData":"#);
        let written = serde_json::to_writer(&mut self.text, other);
        self.text.push(b'}');
        match self.error {
            Some(error) => Err(error),
            None => written.map(|()| self.text),
        }
    }
}

/// Converts nanoseconds to microseconds.
pub(super) fn us(ns: u64) -> f64 {
    ns as f64 / 1_000.0
}

/// Creates an event that names a process or a track.
pub(super) fn track(kind: &'static str, pid: u32, tid: usize, name: String) -> TraceEvent<'static> {
    TraceEvent {
        name: kind.into(),
        ph: 'M',
        pid,
        tid,
        args: json!({ "name": name }),
        ..TraceEvent::default()
    }
}

/// Creates an event with a duration.
pub(super) fn complete<'a>(
    name: impl Into<Cow<'a, str>>,
    cat: &'static str,
    (pid, tid): (u32, usize),
    (from_ns, until_ns): (u64, u64),
    args: Value,
) -> TraceEvent<'a> {
    TraceEvent {
        name: name.into(),
        cat,
        ph: 'X',
        ts: us(from_ns),
        dur: Some(us(until_ns.saturating_sub(from_ns))),
        pid,
        tid,
        s: None,
        args,
    }
}

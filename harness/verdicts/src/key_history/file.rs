//! The key history as a file: JSON lines, one for each value.

use std::io::{self, Write};

use serde::Serialize;

use crate::history::{History, KeyCommand, KeyHistoryCheck, write_json_line};

use super::from_history::KeyHistory;
use super::value_span::{Renewal, ValueSpan};

/// Format and version of a key history file; the `format` key of its first line.
pub const FORMAT: &str = "picklock-key-history/1";

/// The first line.
#[derive(Serialize)]
struct Head<'a> {
    format: &'static str,
    scenario: &'a str,
    lock: &'a str,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    look: Option<KeyHistoryCheck>,
}

/// A line of the file: one value.
#[derive(Serialize)]
struct ValueRecord<'a> {
    node: usize,
    key: &'a str,
    value: &'a str,
    /// When it was written, in nanoseconds since the run began.
    from_ns: u64,
    /// When it ended, in nanoseconds since the run began.
    until_ns: u64,
    /// Its latest lifetime, in milliseconds on the node's clock; absent if it never expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<i64>,
    /// The command that wrote it; absent if the write was not observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    written_by: Option<&'a KeyCommand>,
    /// The later settings of its expiry, in chronological order; absent if there were none.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    renewed: &'a [Renewal],
    /// How it ended.
    end: &'static str,
    /// The command that ended it; absent if no worker's command did.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_by: Option<&'a KeyCommand>,
}

/// Writes the key history of a history, or nothing if the history has none.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub fn write_key_history(history: &History, output: &mut dyn Write) -> io::Result<()> {
    if !history.header.key_history {
        return Ok(());
    }
    let head = Head {
        format: FORMAT,
        scenario: &history.header.scenario,
        lock: &history.header.lock,
        seed: history.header.seed,
        look: history.header.key_history_check,
    };
    let mut text = Vec::new();
    write_json_line(&head, &mut text, output)?;
    for span in KeyHistory::from_history(history).spans {
        write_json_line(&line(&span, &history.header.keys), &mut text, output)?;
    }
    output.flush()
}

fn line<'a>(span: &'a ValueSpan, locks: &'a [String]) -> ValueRecord<'a> {
    ValueRecord {
        node: span.node,
        key: span.key.text(locks),
        value: &span.value,
        from_ns: span.from_ns,
        until_ns: span.until_ns,
        ttl_ms: span.expiry.map(|expiry| expiry.ttl_ms),
        written_by: span.author.as_ref(),
        renewed: &span.renewals,
        end: span.end.as_str(),
        ended_by: span.end.by(),
    }
}

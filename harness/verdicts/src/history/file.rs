//! Histories as files: JSON lines, the header first.

use std::io::{BufRead, Read, Write};

use serde::Serialize;

use super::{Event, EventKind, FORMAT, Header, History};

/// Maximum length of a line in bytes. The longest real lines list a few thousand keys or their stock.
const MAX_LINE_LENGTH: u64 = 1 << 20;

/// Maximum number of events. A history of this size takes about 5 GB of memory.
const MAX_EVENTS: usize = 20_000_000;

/// Maximum number of workers. Checkers keep data per worker, so a larger value in a file could exhaust the memory.
const MAX_WORKERS: usize = 100_000;

/// Maximum number of nodes. Checkers keep data per node and scan it often.
const MAX_NODES: usize = 1000;

/// Why a file could not be read or written as a history.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The file could not be read or written.
    #[error("cannot read the history: {0}")]
    Io(#[from] std::io::Error),
    /// The file is empty.
    #[error("the history is empty: expected a header line with \"format\": \"{FORMAT}\"")]
    Empty,
    /// The first line is not a header of this format.
    #[error("line 1: not a picklock history: {0}")]
    Header(String),
    /// The format is newer than this version, or unknown.
    #[error("line 1: unknown format `{0}`; this picklock reads `{FORMAT}`")]
    Version(String),
    /// A later line is not an event.
    #[error("line {line}: not an event: {reason}")]
    Line {
        /// Line number, counted from 1.
        line: usize,
        /// The parser's message.
        reason: String,
    },
    /// Time runs backwards, or an event refers to a worker, node or key that the header does not declare.
    #[error("line {line}: {reason}")]
    Inconsistent {
        /// Line number, counted from 1.
        line: usize,
        /// A description of the inconsistency.
        reason: String,
    },
}

/// Reads a history.
///
/// # Errors
/// Returns an error that names the first invalid line.
pub fn read_history(mut input: impl BufRead) -> Result<History, HistoryError> {
    read(&mut input)
}

fn read(input: &mut dyn BufRead) -> Result<History, HistoryError> {
    let mut lines = Lines {
        input,
        number: 0,
        bytes: Vec::new(),
    };
    let first = lines.next_line()?.ok_or(HistoryError::Empty)?;
    let header = read_header(first)?;
    let mut events: Vec<Event> = Vec::new();
    let mut latest_ns = 0;
    while let Some(text) = lines.next_line()? {
        if text.trim().is_empty() {
            continue;
        }
        let event = serde_json::from_str(text).map_err(|error| error.to_string());
        let line = lines.number;
        let event: Event = event.map_err(|reason| HistoryError::Line { line, reason })?;
        if events.len() == MAX_EVENTS {
            let reason = format!("the history has more than {MAX_EVENTS} events");
            return Err(HistoryError::Inconsistent { line, reason });
        }
        check_event(&header, &event, latest_ns)
            .map_err(|reason| HistoryError::Inconsistent { line, reason })?;
        latest_ns = event.at_ns;
        events.push(event);
    }
    Ok(History { header, events })
}

/// Reads the lines of an untrusted file, with a limit on their length.
struct Lines<'a> {
    input: &'a mut dyn BufRead,
    /// Number of the latest line, counted from 1.
    number: usize,
    bytes: Vec<u8>,
}

impl Lines<'_> {
    /// Returns the next line, or `None` at the end of the file.
    fn next_line(&mut self) -> Result<Option<&str>, HistoryError> {
        self.bytes.clear();
        let mut bounded = (&mut self.input).take(MAX_LINE_LENGTH + 1);
        if bounded.read_until(b'\n', &mut self.bytes)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.bytes.len() as u64 > MAX_LINE_LENGTH {
            return Err(HistoryError::Line {
                line: self.number,
                reason: format!("the line is longer than {MAX_LINE_LENGTH} bytes"),
            });
        }
        let text = std::str::from_utf8(&self.bytes).map_err(std::io::Error::other)?;
        Ok(Some(text))
    }
}

fn read_header(line: &str) -> Result<Header, HistoryError> {
    let malformed = |error: serde_json::Error| HistoryError::Header(error.to_string());
    let value: serde_json::Value = serde_json::from_str(line).map_err(malformed)?;
    match value.get("format").and_then(|format| format.as_str()) {
        Some(FORMAT) => {}
        Some(other) => return Err(HistoryError::Version(other.to_owned())),
        None => return Err(HistoryError::Header("no `format` key".into())),
    }
    let header: Header = serde_json::from_value(value).map_err(malformed)?;
    let counted = [
        (header.workers, MAX_WORKERS, "workers"),
        (header.nodes, MAX_NODES, "nodes"),
    ];
    match counted.into_iter().find(|(count, max, _)| count > max) {
        Some((count, max, what)) => Err(HistoryError::Header(format!(
            "{count} {what} are more than the maximum of {max}"
        ))),
        None => Ok(header),
    }
}

fn check_event(header: &Header, event: &Event, latest_ns: u64) -> Result<(), String> {
    if event.at_ns < latest_ns {
        return Err(format!(
            "time runs backwards: {} ns after {latest_ns} ns",
            event.at_ns
        ));
    }
    let unknown = |what: &str, number: usize, count: usize| {
        Err(format!(
            "{what} {number} is out of range: the header has {count}"
        ))
    };
    // The client of the final inspection has the number after the last worker. It may wait like a worker.
    let clients =
        header.workers + usize::from(matches!(event.what, EventKind::IdleWhileWaiting { .. }));
    if let Some(worker) = event.what.worker().filter(|worker| *worker >= clients) {
        return unknown("worker", worker, header.workers);
    }
    if let EventKind::KeyChanged { node, why, .. } = &event.what {
        // The client of the final inspection changes keys like a worker.
        let by = why.command().map(|by| by.worker);
        if let Some(worker) = by.filter(|worker| *worker > header.workers) {
            return unknown("worker", worker, header.workers);
        }
        if *node >= header.nodes {
            return unknown("node", *node, header.nodes);
        }
    }
    let key = event.what.key().map(|key| key as usize);
    match key.filter(|key| *key >= header.keys.len()) {
        Some(key) => unknown("key", key, header.keys.len()),
        None => Ok(()),
    }
}

/// Writes a history: one line for the header and one for each event.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub fn write_history(history: &History, output: &mut dyn Write) -> std::io::Result<()> {
    let mut line = Vec::new();
    write_json_line(&history.header, &mut line, output)?;
    for event in &history.events {
        write_json_line(event, &mut line, output)?;
    }
    output.flush()
}

/// Writes a value as one line of JSON. `line` is a reused buffer; it is empty before and after the call.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub(crate) fn write_json_line(
    value: &impl Serialize,
    line: &mut Vec<u8>,
    output: &mut dyn Write,
) -> std::io::Result<()> {
    serde_json::to_writer(&mut *line, value)?;
    line.push(b'\n');
    output.write_all(line)?;
    line.clear();
    Ok(())
}

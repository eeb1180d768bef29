//! The command log: the frames that passed on the links, with their times and outcomes.
//!
//! Memory is bounded: new entries replace the oldest, which are counted. The times of the last commands that name a key
//! are kept separately, so that the driver's queries stay correct when old entries have been replaced.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard};

use picklock_scenarios::{Direction, Phase};
use serde::Serialize;

use crate::proxy::command_log::last_commands::LastCommands;
use crate::proxy::command_log::log_entry::{FrameOutcome, LogEntry};
use crate::proxy::command_log::log_record::LogRecord;
use crate::proxy::lock;

/// Format and version of a command log; the `format` key of its first line.
pub const FORMAT: &str = "picklock-proxy/1";

/// Number of entries in one segment. Only whole segments are reused.
const SEGMENT: usize = 1024;

/// Maximum number of segments: a quarter of a million entries, about 55 MB.
const MAX_SEGMENTS: usize = 256;

/// Maximum number of bytes of a frame's preview.
const MAX_PREVIEW: usize = 80;

/// Number of lines, counted from the newest, that are searched when a connection breaks.
const MAX_IN_TRANSIT: usize = 16 * SEGMENT;

/// A line of the log in memory. It needs no separate allocation.
#[derive(Debug, Clone, Copy)]
struct StoredRecord {
    record: LogRecord,
    text_at: u32,
    text_len: u8,
}

#[derive(Debug, Default, Clone)]
struct Segment {
    lines: Vec<StoredRecord>,
    text: Vec<u8>,
}

#[derive(Debug, Default)]
struct State {
    segments: VecDeque<Segment>,
    omitted: u64,
    /// The times of the last commands, by worker.
    last: HashMap<usize, LastCommands>,
}

/// The command log of a proxy. Clones share the same log.
#[derive(Debug, Clone, Default)]
pub struct CommandLog {
    state: Arc<Mutex<State>>,
    keys: Arc<[String]>,
}

impl CommandLog {
    /// Creates an empty log. Lines refer to `keys` by index.
    pub fn new(keys: &[String]) -> Self {
        CommandLog {
            state: Arc::default(),
            keys: keys.into(),
        }
    }

    /// Locks the log, to append one or more lines.
    pub(crate) fn append(&self) -> Appending<'_> {
        Appending(lock(&self.state))
    }

    /// Returns when `worker` sent the last command that names the key with index `key` in `phase` of attempt `op`, in
    /// nanoseconds on the run's clock. The clock is read just before the command's first byte is written to the node,
    /// so the node cannot have executed it earlier. With several nodes, the earliest of their last commands counts,
    /// because a quorum may have released the lock while the command to another node was still waiting.
    ///
    /// Returns `None` if no such command was forwarded, for example because all were dropped or held, or if the worker
    /// has begun more than a thousand attempts since.
    pub fn last_request_naming(
        &self,
        worker: usize,
        op: u64,
        phase: Phase,
        key: u32,
    ) -> Option<u64> {
        let state = lock(&self.state);
        state.last.get(&worker)?.last_ns(op, phase, key)
    }

    /// Sets all recorded times to zero. Called when the clock is set to zero, because times in a log never decrease.
    pub(crate) fn begin(&self) {
        let mut state = lock(&self.state);
        state.last.clear();
        let segments = state.segments.iter_mut();
        for StoredRecord { record, .. } in segments.flat_map(|it| &mut it.lines) {
            record.at_ns = 0;
            record.sent_ns = record.sent_ns.map(|_| 0);
        }
    }

    /// Marks the frames of a connection that would have arrived at `from_ns` or later as lost. Searches only recent
    /// lines, because older frames cannot be in transit.
    pub(crate) fn mark_lost(&self, conn: u64, from_ns: u64, outcome: FrameOutcome) {
        let mut state = lock(&self.state);
        let newest_segments = state.segments.iter_mut().rev();
        let lines = newest_segments.flat_map(|segment| segment.lines.iter_mut().rev());
        for StoredRecord { record, .. } in lines.take(MAX_IN_TRANSIT) {
            if record.conn == conn && record.sent_ns.is_some_and(|sent_ns| sent_ns >= from_ns) {
                (record.sent_ns, record.outcome) = (None, outcome);
            }
        }
    }

    /// Returns the number of entries that were replaced by newer ones.
    pub fn omitted(&self) -> u64 {
        lock(&self.state).omitted
    }

    /// Returns the entries, in the order of `at_ns`. Frames that are still waiting in the proxy have no entry yet.
    pub fn entries(&self) -> Vec<LogEntry> {
        let segments = lock(&self.state).segments.clone();
        let mut entries: Vec<LogEntry> = segments
            .iter()
            .flat_map(|segment| segment.lines.iter().map(|line| line.entry(&segment.text)))
            .collect();
        entries.sort_by_key(|entry| entry.at_ns);
        entries
    }

    /// Writes the log as JSON lines: a header, then one line per entry.
    ///
    /// # Errors
    /// Returns an error if the writer fails.
    pub fn write(&self, output: &mut dyn Write) -> std::io::Result<()> {
        #[derive(Serialize)]
        struct Header<'a> {
            format: &'a str,
            keys: &'a [String],
            entries: usize,
            omitted: u64,
        }
        let omitted = self.omitted();
        let entries = self.entries();
        let header = Header {
            format: FORMAT,
            keys: &self.keys,
            entries: entries.len(),
            omitted,
        };
        serde_json::to_writer(&mut *output, &header)?;
        output.write_all(b"\n")?;
        for entry in &entries {
            serde_json::to_writer(&mut *output, entry)?;
            output.write_all(b"\n")?;
        }
        output.flush()
    }
}

/// The locked log, to which lines can be appended.
pub(crate) struct Appending<'a>(MutexGuard<'a, State>);

impl Appending<'_> {
    /// Appends one line. The `words` of the preview are joined with spaces.
    pub(crate) fn push<'t>(&mut self, record: &LogRecord, words: impl Iterator<Item = &'t [u8]>) {
        let state = &mut *self.0;
        let lost = matches!(
            record.outcome,
            FrameOutcome::Dropped | FrameOutcome::Answered
        );
        let sent = !lost && record.direction == Direction::Request;
        if let (Some(sent_ns), Some(key), true) = (record.sent_ns, record.key, sent) {
            let last = state.last.entry(record.link.worker).or_default();
            let kind = (record.phase, key, record.link.node);
            last.record(record.op, kind, sent_ns, 4);
        }
        let segment = state.segment();
        let text_at = segment.text.len();
        for word in words {
            let room = MAX_PREVIEW - (segment.text.len() - text_at);
            if room == 0 {
                break;
            }
            if segment.text.len() > text_at {
                segment.text.push(b' ');
            }
            let room = MAX_PREVIEW - (segment.text.len() - text_at);
            let shown = &word[..word.len().min(room)];
            segment.text.extend_from_slice(shown);
        }
        segment.lines.push(StoredRecord {
            record: *record,
            // A segment's text has at most SEGMENT * MAX_PREVIEW bytes, an entry's at most MAX_PREVIEW.
            text_at: u32::try_from(text_at).unwrap_or(u32::MAX),
            text_len: (segment.text.len() - text_at) as u8,
        });
    }
}

impl State {
    /// Returns the segment that has space for one more line.
    fn segment(&mut self) -> &mut Segment {
        let last = self.segments.back();
        if last.is_none_or(|segment| segment.lines.len() >= SEGMENT) {
            let is_full = self.segments.len() >= MAX_SEGMENTS;
            let oldest = is_full.then(|| self.segments.pop_front());
            let mut next = oldest.flatten().unwrap_or_default();
            self.omitted += next.lines.len() as u64;
            next.lines.clear();
            next.text.clear();
            next.lines.reserve(SEGMENT);
            self.segments.push_back(next);
        }
        let last = self.segments.len() - 1;
        &mut self.segments[last]
    }
}

impl StoredRecord {
    fn entry(&self, text: &[u8]) -> LogEntry {
        let start = self.text_at as usize;
        let preview = &text[start..start + usize::from(self.text_len)];
        let record = self.record;
        LogEntry {
            at_ns: record.at_ns,
            sent_ns: record.sent_ns,
            worker: record.link.worker,
            node: record.link.node,
            conn: record.conn,
            direction: record.direction,
            command: record.command.as_str().to_owned(),
            names_key: record.key,
            op: record.op,
            phase: record.phase,
            size: record.size as u64,
            outcome: record.outcome,
            preview: preview.escape_ascii().to_string(),
        }
    }
}

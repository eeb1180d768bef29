//! The command log: what passed on the links, when, and with which outcome.
//!
//! Memory is bounded: new entries replace the oldest, which are counted. What the driver asks
//! (when did the last command of a release that names its key go out?) is kept separately, so
//! that it stays right when the entries are gone.

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

/// Entries in one segment. Segments are reused whole.
const SEGMENT: usize = 1024;

/// Segments that are kept: a quarter of a million entries, at most some 55 MB.
const SEGMENTS: usize = 256;

/// Bytes of a frame that are kept as its preview.
const PREVIEW: usize = 80;

/// How many of the newest lines are searched when a connection breaks.
const MAX_IN_TRANSIT: usize = 16 * SEGMENT;

/// A line of the log as it is kept: nothing in it is allocated.
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
    /// By worker.
    last: HashMap<usize, LastCommands>,
}

/// The command log of a proxy. Copies share one log.
#[derive(Debug, Clone, Default)]
pub struct CommandLog {
    state: Arc<Mutex<State>>,
    keys: Arc<[String]>,
}

impl CommandLog {
    /// An empty log; lines name keys by their position.
    pub fn new(keys: &[String]) -> Self {
        CommandLog {
            state: Arc::default(),
            keys: keys.into(),
        }
    }

    /// Opens the log for one or more lines.
    pub(crate) fn append(&self) -> Appending<'_> {
        Appending(lock(&self.state))
    }

    /// When the last command that names `key` (by position) went out from `worker` in `phase` of
    /// attempt `op`. In nanoseconds on the run's clock, read just before the command's first byte
    /// was written to the node: the node cannot have executed it earlier. With several nodes, the
    /// earliest of their last commands counts: a quorum may have released the lock while the
    /// command to another node still waited. `None`: no such command went out (dropped and still
    /// held ones did not), or the worker has begun more than a thousand attempts since.
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

    /// The clock was set to zero, and so are the times of what was sent before: a log never runs backwards.
    pub(crate) fn begin(&self) {
        let mut state = lock(&self.state);
        state.last.clear();
        let segments = state.segments.iter_mut();
        for StoredRecord { record, .. } in segments.flat_map(|it| &mut it.lines) {
            record.at_ns = 0;
            record.sent_ns = record.sent_ns.map(|_| 0);
        }
    }

    /// Marks the frames of a connection as lost that would have arrived at this time or later.
    /// Only recent lines can still be in transit.
    pub(crate) fn mark_lost(&self, conn: u64, from_ns: u64, outcome: FrameOutcome) {
        let mut state = lock(&self.state);
        let lines = state.segments.iter_mut().rev();
        let lines = lines.flat_map(|segment| segment.lines.iter_mut().rev());
        for StoredRecord { record, .. } in lines.take(MAX_IN_TRANSIT) {
            if record.conn == conn && record.sent_ns.is_some_and(|sent_ns| sent_ns >= from_ns) {
                (record.sent_ns, record.outcome) = (None, outcome);
            }
        }
    }

    /// How many of the oldest entries were replaced.
    pub fn omitted(&self) -> u64 {
        lock(&self.state).omitted
    }

    /// The entries, in the order of `at_ns`. Frames that still wait in the proxy have none yet.
    pub fn entries(&self) -> Vec<LogEntry> {
        let segments = lock(&self.state).segments.clone();
        let mut entries: Vec<LogEntry> = segments
            .iter()
            .flat_map(|segment| segment.lines.iter().map(|line| line.entry(&segment.text)))
            .collect();
        entries.sort_by_key(|entry| entry.at_ns);
        entries
    }

    /// Writes the log as JSON lines: a header, then one line an entry.
    ///
    /// # Errors
    /// When the writer fails.
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

/// The log, open for new lines.
pub(crate) struct Appending<'a>(MutexGuard<'a, State>);

impl Appending<'_> {
    /// Appends one line. `words`: the preview of the frame; they are joined by spaces.
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
            last.note(record.op, kind, sent_ns, 4);
        }
        let segment = state.segment();
        let text_at = segment.text.len();
        for word in words {
            let room = PREVIEW - (segment.text.len() - text_at);
            if room == 0 {
                break;
            }
            if segment.text.len() > text_at {
                segment.text.push(b' ');
            }
            let room = PREVIEW - (segment.text.len() - text_at);
            let shown = &word[..word.len().min(room)];
            segment.text.extend_from_slice(shown);
        }
        segment.lines.push(StoredRecord {
            record: *record,
            // A segment's text is at most SEGMENT * PREVIEW bytes long, an entry's at most PREVIEW.
            text_at: u32::try_from(text_at).unwrap_or(u32::MAX),
            text_len: (segment.text.len() - text_at) as u8,
        });
    }
}

impl State {
    /// The segment that has room for one more line.
    fn segment(&mut self) -> &mut Segment {
        let last = self.segments.back();
        if last.is_none_or(|segment| segment.lines.len() >= SEGMENT) {
            let are_all = self.segments.len() >= SEGMENTS;
            let oldest = are_all.then(|| self.segments.pop_front());
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

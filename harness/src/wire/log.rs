//! The command log: what passed on the links, when, and with which outcome.
//!
//! Memory is bounded: new entries replace the oldest, which are counted. What the driver asks
//! (when did the last command of a release that names its key go out?) is kept separately, so
//! that it stays right when the entries are gone.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use picklock_scenarios::{Direction, Phase};
use serde::Serialize;

use super::command::CommandName;
use super::log_entry::{LogEntry, Outcome};
use super::log_record::LogRecord;

/// Format and version of a wire log; the `format` key of its first line.
pub const FORMAT: &str = "picklock-wire/1";

/// Entries in one segment. Segments are reused whole.
const SEGMENT: usize = 1024;

/// Segments that are kept: a quarter of a million entries, at most some 45 MB.
const SEGMENTS: usize = 256;

/// Bytes of a frame that are kept as its preview.
const PREVIEW: usize = 80;

/// Attempts of one worker whose last commands are remembered.
const REMEMBERED: usize = 4096;

/// How many of the newest lines are searched when a connection breaks.
const MOST_IN_TRANSIT: usize = 16 * SEGMENT;

/// A line of the log as it is kept: nothing in it is allocated.
#[derive(Debug, Clone, Copy)]
struct Line {
    at_ns: u64,
    /// `u64::MAX`: never.
    sent_ns: u64,
    op: u64,
    conn: u64,
    size: u64,
    worker: u32,
    node: u32,
    /// `u32::MAX`: none.
    key: u32,
    text_at: u32,
    text_len: u8,
    direction: Direction,
    phase: Phase,
    outcome: Outcome,
    command: CommandName,
}

#[derive(Debug, Default, Clone)]
struct Segment {
    lines: Vec<Line>,
    text: Vec<u8>,
}

/// When the last command that names a key went out to a node, in one phase of one attempt.
#[derive(Debug, Clone, Copy)]
struct LastSent {
    node: usize,
    op: u64,
    phase: Phase,
    key: u32,
    sent_ns: u64,
}

#[derive(Debug, Default)]
struct State {
    segments: VecDeque<Segment>,
    left_out: u64,
    last: HashMap<u32, VecDeque<LastSent>>,
}

/// The command log of a wire. Copies share one log.
#[derive(Debug, Clone, Default)]
pub struct WireLog {
    state: Arc<Mutex<State>>,
    keys: Arc<[String]>,
}

impl WireLog {
    /// An empty log; lines name keys by their position.
    pub fn new(keys: &[String]) -> Self {
        WireLog {
            state: Arc::default(),
            keys: keys.into(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Appending leaves no incomplete line behind, so a panic elsewhere does not spoil the log.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the log for one or more lines.
    pub(crate) fn append(&self) -> Appending<'_> {
        Appending(self.state())
    }

    /// When the last command that names `key` (by position) went out from `worker` in `phase` of
    /// attempt `op`. In nanoseconds on the run's clock, read just before the command's first byte
    /// was written to the node: the node cannot have executed it earlier. With several nodes, the
    /// earliest of their last commands counts: a quorum may have released the lock while the
    /// command to another node still waited. `None`: no such command went out (dropped and still
    /// held ones did not), or the worker has begun several thousand attempts since.
    pub fn last_request_naming(
        &self,
        worker: usize,
        op: u64,
        phase: Phase,
        key: u32,
    ) -> Option<u64> {
        let state = self.state();
        let mut by_node = BTreeMap::new();
        for last in state.last.get(&narrow(worker))? {
            if (last.op, last.phase, last.key) == (op, phase, key) {
                let latest_ns: &mut u64 = by_node.entry(last.node).or_default();
                *latest_ns = last.sent_ns.max(*latest_ns);
            }
        }
        by_node.into_values().min()
    }

    /// Marks the frames of a connection as lost that would have arrived at this time or later.
    /// Only recent lines can still be in transit.
    pub(crate) fn mark_lost(&self, conn: u64, from_ns: u64, outcome: Outcome) {
        let mut state = self.state();
        let lines = state.segments.iter_mut().rev();
        let lines = lines.flat_map(|segment| segment.lines.iter_mut().rev());
        let in_transit = |line: &&mut Line| {
            line.conn == conn && line.sent_ns >= from_ns && line.sent_ns != u64::MAX
        };
        for line in lines.take(MOST_IN_TRANSIT).filter(in_transit) {
            line.sent_ns = u64::MAX;
            line.outcome = outcome;
        }
    }

    /// How many of the oldest entries were replaced.
    pub fn left_out(&self) -> u64 {
        self.state().left_out
    }

    /// The entries, in the order of `at_ns`. Frames that still wait in the wire have none yet.
    pub fn entries(&self) -> Vec<LogEntry> {
        let segments = self.state().segments.clone();
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
    pub fn write(&self, mut output: impl Write) -> std::io::Result<()> {
        #[derive(Serialize)]
        struct Header<'a> {
            format: &'a str,
            keys: &'a [String],
            entries: usize,
            left_out: u64,
        }
        let left_out = self.left_out();
        let entries = self.entries();
        let header = Header {
            format: FORMAT,
            keys: &self.keys,
            entries: entries.len(),
            left_out,
        };
        serde_json::to_writer(&mut output, &header)?;
        output.write_all(b"\n")?;
        for entry in &entries {
            serde_json::to_writer(&mut output, entry)?;
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
        let sent = record.outcome != Outcome::Dropped && record.direction == Direction::Request;
        if let (Some(sent_ns), Some(key), true) = (record.sent_ns, record.key, sent) {
            state.note_sent(record, key, sent_ns);
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
            segment
                .text
                .extend_from_slice(&word[..word.len().min(room)]);
        }
        segment.lines.push(Line {
            at_ns: record.at_ns,
            sent_ns: record.sent_ns.unwrap_or(u64::MAX),
            op: record.op,
            conn: record.conn,
            size: record.size as u64,
            worker: narrow(record.link.worker),
            node: narrow(record.link.node),
            key: record.key.unwrap_or(u32::MAX),
            // A segment's text is at most SEGMENT * PREVIEW bytes long, an entry's at most PREVIEW.
            text_at: narrow(text_at),
            text_len: (segment.text.len() - text_at) as u8,
            direction: record.direction,
            phase: record.phase,
            outcome: record.outcome,
            command: record.command,
        });
    }
}

impl State {
    /// The segment that has room for one more line.
    fn segment(&mut self) -> &mut Segment {
        let full = self
            .segments
            .back()
            .is_none_or(|segment| segment.lines.len() >= SEGMENT);
        if full {
            let mut next = if self.segments.len() < SEGMENTS {
                Segment::default()
            } else {
                self.segments.pop_front().unwrap_or_default()
            };
            self.left_out += next.lines.len() as u64;
            next.lines.clear();
            next.text.clear();
            next.lines.reserve(SEGMENT);
            self.segments.push_back(next);
        }
        let last = self.segments.len() - 1;
        &mut self.segments[last]
    }

    fn note_sent(&mut self, record: &LogRecord, key: u32, sent_ns: u64) {
        let last = self.last.entry(narrow(record.link.worker)).or_default();
        let same = last
            .iter_mut()
            .rev()
            // The same attempt is among the newest, unless this is its first command.
            .take(64)
            .find(|last| {
                (last.node, last.op, last.phase, last.key)
                    == (record.link.node, record.op, record.phase, key)
            });
        if let Some(same) = same {
            same.sent_ns = same.sent_ns.max(sent_ns);
            return;
        }
        if last.len() >= REMEMBERED {
            last.pop_front();
        }
        last.push_back(LastSent {
            node: record.link.node,
            op: record.op,
            phase: record.phase,
            key,
            sent_ns,
        });
    }
}

impl Line {
    fn entry(&self, text: &[u8]) -> LogEntry {
        let start = self.text_at as usize;
        let preview = &text[start..start + usize::from(self.text_len)];
        LogEntry {
            at_ns: self.at_ns,
            sent_ns: Some(self.sent_ns).filter(|ns| *ns != u64::MAX),
            worker: self.worker as usize,
            node: self.node as usize,
            conn: self.conn,
            direction: self.direction,
            command: self.command.as_str().to_owned(),
            names_key: Some(self.key).filter(|key| *key != u32::MAX),
            op: self.op,
            phase: self.phase,
            size: self.size,
            outcome: self.outcome,
            preview: preview.escape_ascii().to_string(),
        }
    }
}

/// Numbers of workers, nodes and bytes of a segment are far below 2³².
fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

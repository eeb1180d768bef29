//! The command log: what passed on the links, when, and what became of it.
//!
//! Memory is bounded: the oldest entries make room for new ones, and are counted. What the
//! checkers ask (when did the last command of a release that names its key go out?) is kept
//! apart, so that it stays right when the entries are gone.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use picklock_scenarios::{Direction, Phase};
use serde::Serialize;

use super::LinkId;
use super::command::CommandName;
use super::entry::{Entry, Outcome};
use super::pending::Asked;

/// Format and version of a wire log; the `format` key of its first line.
pub const FORMAT: &str = "picklock-wire/1";

/// Entries in one segment. Segments are reused whole.
const SEGMENT: usize = 1024;

/// Segments that are kept: a quarter of a million entries, at most some 45 MB.
const SEGMENTS: usize = 256;

/// Bytes of a frame that are kept for people to read.
const PREVIEW: usize = 80;

/// Attempts of one worker whose last commands are remembered.
const REMEMBERED: usize = 4096;

/// So many of the newest lines are looked at when a connection breaks.
const MOST_ON_THEIR_WAY: usize = 16 * SEGMENT;

/// A line of the log as it is kept: nothing in it is allocated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub at_ns: u64,
    pub sent_ns: Option<u64>,
    pub link: LinkId,
    pub conn: u64,
    pub direction: Direction,
    pub asked: Asked,
    pub size: usize,
    pub outcome: Outcome,
}

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

/// When the last command of one phase of one attempt went out to one node that named one key.
#[derive(Debug, Clone, Copy)]
struct Last {
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
    last: HashMap<u32, VecDeque<Last>>,
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
        // Appending leaves no half-made line behind, so a panic elsewhere does not spoil the log.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the log for the lines of one chunk.
    pub(super) fn append(&self) -> Appending<'_> {
        Appending(self.state())
    }

    /// When the last command went out that worker `worker` sent while it was busy with `phase` of
    /// attempt `op`, and that names `key` (by position). Nanoseconds on the run's clock, read
    /// just before the command's first byte was written to the node: the node cannot have carried
    /// it out earlier. Of several nodes the one counts that was done with first: a quorum may have
    /// let the lock go while the command to another node still waited. `None`: no such command went out (swallowed and still held ones did not),
    /// or the worker has begun more than some thousand attempts since.
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

    /// What of a connection was still to arrive at this time, or later, never did. Only what was
    /// written down not long ago can be on its way.
    pub(crate) fn take_back(&self, conn: u64, from_ns: u64, outcome: Outcome) {
        let mut state = self.state();
        let lines = state.segments.iter_mut().rev();
        let lines = lines.flat_map(|segment| segment.lines.iter_mut().rev());
        let on_its_way = |line: &&mut Line| {
            line.conn == conn && line.sent_ns >= from_ns && line.sent_ns != u64::MAX
        };
        for line in lines.take(MOST_ON_THEIR_WAY).filter(on_its_way) {
            line.sent_ns = u64::MAX;
            line.outcome = outcome;
        }
    }

    /// How many of the oldest entries had to make room.
    pub fn left_out(&self) -> u64 {
        self.state().left_out
    }

    /// What is in the log, in the order of `at_ns`. Frames that are still on their way are not.
    pub fn entries(&self) -> Vec<Entry> {
        let segments = self.state().segments.clone();
        let mut entries: Vec<Entry> = segments
            .iter()
            .flat_map(|segment| segment.lines.iter().map(|line| line.entry(&segment.text)))
            .collect();
        entries.sort_by_key(|entry| entry.at_ns);
        entries
    }

    /// Writes the log as JSON lines: a header, then one line an entry.
    ///
    /// # Errors
    /// Whatever the writer says.
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
pub(super) struct Appending<'a>(MutexGuard<'a, State>);

impl Appending<'_> {
    /// Appends one line. `words`: what to show of the frame, joined by spaces.
    pub(super) fn push<'t>(&mut self, record: &Record, words: impl Iterator<Item = &'t [u8]>) {
        let state = &mut *self.0;
        let sent = record.outcome != Outcome::Dropped && record.direction == Direction::Request;
        if let (Some(sent_ns), Some(key), true) = (record.sent_ns, record.asked.request.key, sent) {
            state.went_out(record, key, sent_ns);
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
            op: record.asked.stamp.op,
            conn: record.conn,
            size: record.size as u64,
            worker: narrow(record.link.worker),
            node: narrow(record.link.node),
            key: record.asked.request.key.unwrap_or(u32::MAX),
            // A segment's text is at most SEGMENT * PREVIEW bytes long, an entry's at most PREVIEW.
            text_at: narrow(text_at),
            text_len: (segment.text.len() - text_at) as u8,
            direction: record.direction,
            phase: record.asked.stamp.phase,
            outcome: record.outcome,
            command: record.asked.request.name,
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

    fn went_out(&mut self, record: &Record, key: u32, sent_ns: u64) {
        let stamp = record.asked.stamp;
        let last = self.last.entry(narrow(record.link.worker)).or_default();
        let same = last
            .iter_mut()
            .rev()
            // The same attempt is among the newest, unless this is the first of it.
            .take(64)
            .find(|last| {
                (last.node, last.op, last.phase, last.key)
                    == (record.link.node, stamp.op, stamp.phase, key)
            });
        if let Some(same) = same {
            same.sent_ns = same.sent_ns.max(sent_ns);
            return;
        }
        if last.len() >= REMEMBERED {
            last.pop_front();
        }
        last.push_back(Last {
            node: record.link.node,
            op: stamp.op,
            phase: stamp.phase,
            key,
            sent_ns,
        });
    }
}

impl Line {
    fn entry(&self, text: &[u8]) -> Entry {
        let start = self.text_at as usize;
        let preview = &text[start..start + usize::from(self.text_len)];
        Entry {
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

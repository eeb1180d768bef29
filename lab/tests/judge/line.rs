//! The judge's own parser of history files: a header and numbered lines.

use serde_json::Value;

/// An event of a history, with its position in the file.
#[derive(Debug, Clone)]
pub struct Line {
    /// Line number, counted from 1.
    pub number: usize,
    /// Time in nanoseconds since the run began.
    pub at: u64,
    /// Name of the event.
    pub event: String,
    fields: Value,
}

impl Line {
    /// Returns a number of the event, or `None` if it has no such field.
    pub fn num(&self, name: &str) -> Option<u64> {
        self.fields[name].as_u64()
    }

    /// Returns a number that may be negative, or `None` if there is no such field.
    pub fn signed(&self, name: &str) -> Option<i64> {
        self.fields[name].as_i64()
    }

    /// Returns a text of the event, or an empty one if it has no such field.
    pub fn text(&self, name: &str) -> &str {
        self.fields[name].as_str().unwrap_or_default()
    }

    /// Returns a boolean, or `false` if there is no such field.
    pub fn flag(&self, name: &str) -> bool {
        self.fields[name].as_bool() == Some(true)
    }

    /// Returns `true` if the event has the field.
    pub fn has(&self, name: &str) -> bool {
        !self.fields[name].is_null()
    }

    /// Returns a list of numbers, or an empty one if there is no such field.
    pub fn list(&self, name: &str) -> Vec<i64> {
        let list = self.fields[name].as_array();
        let items = list.into_iter().flatten();
        items.filter_map(Value::as_i64).collect()
    }

    /// Returns the raw JSON of a field.
    pub fn raw(&self, name: &str) -> &Value {
        &self.fields[name]
    }

    /// Returns the buyer's attempt that the event is about, if there is one.
    pub fn op(&self) -> Option<u64> {
        self.num("op").filter(|op| *op > 0)
    }
}

/// The schedule of a job, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    pub interval: u64,
    pub ticks: u64,
    pub clock_shift: u64,
    pub catches_up: bool,
}

impl Schedule {
    fn read(fields: &Value) -> Option<Schedule> {
        let ns = |name: &str| fields[name].as_u64().map(|ms| ms * MS);
        Some(Schedule {
            interval: ns("interval_ms")?,
            ticks: fields["ticks"].as_u64()?,
            clock_shift: ns("clock_shift_ms").unwrap_or(0),
            catches_up: fields["catches_up"].as_bool() == Some(true),
        })
    }
}

/// A whole history: the contents of the header, and the events.
pub struct File {
    /// Names of the locks.
    pub locks: Vec<String>,
    /// Number of workers of the scenario. A client with a higher number is the probe.
    pub workers: u64,
    /// Number of independent nodes.
    pub nodes: usize,
    /// Number of nodes that a grant needs.
    pub quorum: usize,
    /// The lease in nanoseconds.
    pub ttl: u64,
    /// Units of each lock at the start.
    pub stock: i64,
    /// With fewer grants no property is held.
    pub min_grants: usize,
    /// Whether this is the lock that waits for its replicas.
    pub needs_replicas: bool,
    /// The bound of `progress` in nanoseconds.
    pub bound: u64,
    /// Whether the lock promises to renew its lease.
    pub renews: bool,
    /// Whether the history contains the key changes.
    pub key_history: bool,
    /// The sum of the weights that may be granted at the same time.
    pub capacity: u64,
    /// The kind of the lock.
    pub kind: String,
    /// Maximum number of readers that may be let in before a writer that asked earlier.
    pub max_overtakes: Option<u64>,
    /// How long the lock keeps its key after a release, in nanoseconds.
    pub min_hold: u64,
    /// The schedule of the job, if there is one.
    pub schedule: Option<Schedule>,
    /// The events.
    pub lines: Vec<Line>,
}

impl File {
    /// Parses the text of a history.
    pub fn read(text: &str) -> File {
        let mut values = text.lines().map(|line| {
            let value: Value = serde_json::from_str(line).expect("a line is JSON");
            value
        });
        let head = values.next().expect("a header");
        let nodes = head["nodes"].as_u64().expect("nodes") as usize;
        let number = |name: &str| head[name].as_u64().expect("a number in the header");
        let locks = head["keys"].as_array().expect("keys").iter();
        let lines = values.zip(2..).map(|(fields, number)| Line {
            number,
            at: fields["at_ns"].as_u64().expect("at_ns"),
            event: fields["event"].as_str().expect("event").to_owned(),
            fields,
        });
        File {
            locks: locks
                .map(|name| name.as_str().unwrap_or_default().to_owned())
                .collect(),
            workers: number("workers"),
            nodes,
            quorum: head["quorum"]
                .as_u64()
                .map_or(nodes / 2 + 1, |quorum| quorum as usize),
            ttl: number("ttl_ms") * MS,
            stock: head["stock_start"].as_i64().expect("stock_start"),
            min_grants: number("min_grants") as usize,
            needs_replicas: head["lock"].as_str() == Some("replicated"),
            bound: number("progress_within_ms") * MS,
            renews: head["renews"].as_bool() == Some(true),
            key_history: head["key_history"].as_bool() == Some(true),
            capacity: head["capacity"].as_u64().unwrap_or(1),
            kind: head["kind"].as_str().unwrap_or("mutex").to_owned(),
            max_overtakes: head["max_overtakes"].as_u64(),
            min_hold: head["min_hold_ms"].as_u64().unwrap_or(0) * MS,
            schedule: Schedule::read(&head["schedule"]),
            lines: lines.collect(),
        }
    }

    /// Returns the events with this name.
    pub fn events<'a>(&'a self, event: &'a str) -> impl Iterator<Item = &'a Line> {
        self.lines.iter().filter(move |line| line.event == event)
    }

    /// Returns `true` if this fault could not be applied: it ended when it began, and the next line reports it as
    /// missed.
    pub fn missed(&self, began: &Line) -> bool {
        let ended = self.events("fault-ended");
        let mut ended = ended.filter(|line| line.num("id") == began.num("id"));
        ended.next().is_some_and(|ended| {
            let next = self
                .lines
                .iter()
                .find(|line| line.number == ended.number + 1);
            next.is_some_and(|next| next.event == "fault-missed")
        })
    }

    /// Returns the time of the last line.
    pub fn end(&self) -> u64 {
        self.lines.last().map_or(0, |line| line.at)
    }
}

/// Nanoseconds in a millisecond.
pub const MS: u64 = 1_000_000;

/// The part of a lease that matters: the judge's copy of `NOTABLE_DELAY` and `ENDING_ANYWAY`
/// (`harness/verdicts/src/check/stalls/thresholds.rs`).
pub const TENTH: u64 = 10;

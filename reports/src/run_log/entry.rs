//! One entry of a run's log.

use picklock_verdicts::history::History;
use serde::Serialize;

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryKind {
    /// A message between the driver and a worker, or between a worker and the stock.
    Message,
    /// A command on its way to a node.
    Command,
    /// A reply on its way to a worker.
    Reply,
    /// A key of a node changed.
    KeyHistory,
    /// A fault began or ended.
    Fault,
    /// Any other observation of the harness.
    Harness,
}

/// One entry. Texts come from locks and servers; code that prints them must escape them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// When it happened, in nanoseconds since the start of the run. For a command or a reply: when the proxy had
    /// received it completely.
    pub at_ns: u64,
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Source and destination, such as `c1 → n0`, `driver → c1` or `n0`.
    pub route: String,
    /// The worker involved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<usize>,
    /// The node involved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<usize>,
    /// The attempt that the entry belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<u64>,
    /// The key involved. For an attempt, the lock's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Description of the event.
    pub text: String,
}

impl Entry {
    pub(super) fn new(at_ns: u64, kind: EntryKind, route: impl Into<String>, text: String) -> Self {
        Entry {
            at_ns,
            kind,
            route: route.into(),
            worker: None,
            node: None,
            op: None,
            key: None,
            text,
        }
    }
}

/// Names the client of a worker, or the one that inspects the locks after the run.
pub(super) fn client(worker: usize, history: &History) -> String {
    if worker < history.header.workers {
        format!("c{worker}")
    } else {
        "probe".to_owned()
    }
}

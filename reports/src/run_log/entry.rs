//! One entry of the log of a run.

use picklock_verdicts::history::History;
use serde::Serialize;

/// What kind of entry it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryKind {
    /// Between the driver and a worker, or between a worker and the stock.
    Message,
    /// A command on its way to a node.
    Command,
    /// A reply on its way to a worker.
    Reply,
    /// A key of a node changed.
    KeyHistory,
    /// A fault began or ended.
    Fault,
    /// Anything else that the harness saw.
    Harness,
}

/// One entry. Texts come from locks and servers: whoever prints them makes them safe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// When it happened, nanoseconds since the run began. A command or a reply: when the proxy had got it.
    pub at_ns: u64,
    /// What kind it is.
    pub kind: EntryKind,
    /// From where to where: `w1 → n0`, `driver → w1`, `n0`.
    pub route: String,
    /// The worker that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<usize>,
    /// The node that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<usize>,
    /// The attempt that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<u64>,
    /// The key: of an attempt the lock's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What happened.
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

/// A worker, or the client that looks at the locks after the run.
pub(super) fn client(worker: usize, history: &History) -> String {
    match worker < history.header.workers {
        true => format!("w{worker}"),
        false => "probe".to_owned(),
    }
}

//! Changes of the servers' keys: what a history knows of the key history of a lock.
//!
//! They come from what the servers did, never from what a lock claims: in the simulation from
//! the nodes themselves, on real servers from what each server reports.

use std::sync::Arc;

use picklock_scenarios::Phase;
use serde::{Deserialize, Serialize};

/// A key on a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KeyName {
    /// It has exactly the name of a lock: the lock's position in the header.
    Lock(u32),
    /// Any other name: with a prefix, a counter, a notification list.
    Other(Arc<str>),
}

impl KeyName {
    /// The name as people know it. `locks`: the names in the header.
    pub fn text<'a>(&'a self, locks: &'a [String]) -> &'a str {
        match self {
            KeyName::Lock(lock) => locks.get(*lock as usize).map_or("?", String::as_str),
            KeyName::Other(name) => name,
        }
    }
}

/// Why a key changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum KeyChange {
    /// A worker's command changed it.
    Command(KeyCommand),
    /// Its expiry was over, and the server removed it.
    Expired,
    /// The server, or the nemesis in its place, evicted it.
    Evicted,
    /// All keys were deleted.
    Flushed,
    /// The server restarted, and has this from its disk.
    Restarted,
    /// A replica replaced the server, and has this.
    FailedOver,
    /// It was found like this. How it came to be so was not seen.
    Found,
}

impl KeyChange {
    /// The worker's command that made the change, if one did.
    pub fn command(&self) -> Option<&KeyCommand> {
        match self {
            KeyChange::Command(command) => Some(command),
            _ => None,
        }
    }
}

/// A worker's command that changed a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyCommand {
    /// Whose.
    pub worker: usize,
    /// The attempt that the worker was busy with, or had been last.
    pub op: u64,
    /// What the worker had been asked for.
    pub phase: Phase,
    /// The command in upper case; of a script, the one that ran it.
    pub command: Arc<str>,
    /// When the worker sent it, nanoseconds since the run began, if a fault held it back on its way; left out if it
    /// went on at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_ns: Option<u64>,
    /// When it went on to the server, nanoseconds since the run began, if the harness noticed the change a millisecond
    /// later or more: a busy machine makes it late. Left out otherwise, and of a simulated server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarded_at_ns: Option<u64>,
}

impl KeyCommand {
    /// True if this worker sent it in this attempt.
    pub fn is_of(&self, worker: usize, op: u64) -> bool {
        (self.worker, self.op) == (worker, op)
    }

    /// True if one attempt sent both.
    pub fn shares_attempt(&self, other: &KeyCommand) -> bool {
        self.is_of(other.worker, other.op)
    }

    /// True for a script or a function: it looks and acts at once.
    pub fn is_script(&self) -> bool {
        matches!(&*self.command, "EVAL" | "EVALSHA" | "FCALL")
    }
}

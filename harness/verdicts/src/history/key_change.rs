//! Changes of the servers' keys, from which the key history is built.
//!
//! The changes are observed on the servers, and never derived from the claims of a lock: the simulation reads them from
//! its nodes, and real servers report them.

use std::sync::Arc;

use picklock_scenarios::Phase;
use serde::{Deserialize, Serialize};

/// A key on a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected the number of a lock, or the name of a key"
)]
pub enum KeyName {
    /// A key with exactly the name of a lock, given as the lock's position in the header.
    Lock(u32),
    /// A key with any other name: one with a prefix, a counter, a notification list.
    Other(Arc<str>),
    /// One permit of a semaphore: an element of its collection that names its holder.
    Permit {
        /// The semaphore, by its position in the header.
        lock: u32,
        /// The semaphore's name, and the name of the element.
        permit: Arc<str>,
    },
    /// The permits of a semaphore whose value does not name their holders: a number, or a list of tokens.
    Count {
        /// The semaphore, by its position in the header.
        permits_of: u32,
    },
    /// A further key of a semaphore whose permits name their holders, or of such a read/write lock. It does not hold
    /// the lock, but for example a list of waiting clients.
    Beside {
        /// The lock, by its position in the header.
        beside: u32,
        /// The key's name.
        name: Arc<str>,
    },
}

impl KeyName {
    /// Returns the key's name. `locks` are the names in the header.
    pub fn text<'a>(&'a self, locks: &'a [String]) -> &'a str {
        match self {
            KeyName::Lock(lock) => locks.get(*lock as usize).map_or("?", String::as_str),
            KeyName::Other(name)
            | KeyName::Permit { permit: name, .. }
            | KeyName::Beside { name, .. } => name,
            KeyName::Count { permits_of } => {
                locks.get(*permits_of as usize).map_or("?", String::as_str)
            }
        }
    }

    /// Returns the lock that has this key by its name, or `None` for a key with any other name.
    pub fn lock(&self) -> Option<u32> {
        match self {
            KeyName::Lock(lock)
            | KeyName::Permit { lock, .. }
            | KeyName::Count { permits_of: lock } => Some(*lock),
            KeyName::Other(_) | KeyName::Beside { .. } => None,
        }
    }

    /// Returns `true` if a client can hold a lock by a value in this key. A value that never expires counts only in a
    /// key with the lock's name, which excludes counters next to the lock.
    pub fn may_hold_lock(&self, expires: bool) -> bool {
        match self {
            KeyName::Lock(_) | KeyName::Permit { .. } => true,
            KeyName::Other(_) => expires,
            KeyName::Count { .. } | KeyName::Beside { .. } => false,
        }
    }

    /// Returns `true` if a value in this key and a value in the other key would compete for the same lock: the keys are
    /// equal, or are permits of one semaphore.
    pub fn competes_with(&self, other: &KeyName) -> bool {
        let is_permit = |key: &KeyName| matches!(key, KeyName::Permit { .. });
        self == other || is_permit(self) && is_permit(other) && self.lock() == other.lock()
    }
}

/// Why a key changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum KeyChange {
    /// A worker's command changed the key.
    Command(KeyCommand),
    /// The server removed the key because its expiry had passed.
    Expired,
    /// The server evicted the key, or the nemesis did so in its place.
    Evicted,
    /// All keys were deleted.
    Flushed,
    /// The server restarted, and loaded this value from its disk.
    Restarted,
    /// A replica that had this value replaced the server.
    FailedOver,
    /// The key was found in this state; the change itself was not observed.
    Found,
}

impl KeyChange {
    /// Returns the worker's command that made the change, or `None` if no worker made it.
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
    /// The worker that sent the command.
    pub worker: usize,
    /// The worker's attempt at that time, or its latest one if none was in progress.
    pub op: u64,
    /// The request that the worker was handling.
    pub phase: Phase,
    /// The command's name in upper case. For the effects of a script, this is the command that ran the script.
    pub command: Arc<str>,
    /// When the worker sent the command, in nanoseconds since the run began. Present only if a fault held the command
    /// back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_ns: Option<u64>,
    /// When the proxy forwarded the command to the server, in nanoseconds since the run began. Present only if the
    /// harness observed the change at least a millisecond later, as on a busy machine; never present for a simulated
    /// server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarded_at_ns: Option<u64>,
    /// Whether the command named the value that it removed or replaced, although another worker had written that value
    /// and this worker had not read it. The two workers then have the same token.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub names_unread_value: bool,
}

impl KeyCommand {
    /// Returns `true` if this worker sent the command in this attempt.
    pub fn is_of(&self, worker: usize, op: u64) -> bool {
        (self.worker, self.op) == (worker, op)
    }

    /// Returns `true` if the same attempt sent both commands.
    pub fn shares_attempt(&self, other: &KeyCommand) -> bool {
        self.is_of(other.worker, other.op)
    }

    /// Returns `true` if the command runs a script or a function, which checks and acts atomically.
    pub fn is_script(&self) -> bool {
        matches!(&*self.command, "EVAL" | "EVALSHA" | "FCALL")
    }
}

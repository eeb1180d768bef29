//! The adapter protocol: what a driver and a worker say to each other, one JSON object a line.
//!
//! `docs/protocol.md` is the same in words, for whoever writes an adapter in another language.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version of the protocol; the driver says it in `init`.
pub const PROTOCOL: u32 = 1;

/// A request, with the number that its reply must carry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Chosen by the driver; the reply carries the same.
    pub id: u64,
    /// What is asked.
    #[serde(flatten)]
    pub ask: Ask,
}

/// What the driver asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub enum Ask {
    /// First of all: who you are, and where Redis is. Answered by `ready`.
    Init {
        /// [`PROTOCOL`].
        protocol: u32,
        /// Number of the worker.
        worker: usize,
        /// One URL a node: `redis://127.0.0.1:PORT`.
        nodes: Vec<String>,
        /// After this long without an answer a command has failed, milliseconds.
        timeout_ms: u64,
        /// Seed for tokens and delays: another one for every start of every worker.
        seed: u64,
        /// What the user gave with `--impl-option`.
        #[serde(default)]
        options: BTreeMap<String, String>,
    },
    /// Take the lock. Answered by `granted`, `refused` or `error`.
    Acquire {
        /// The lock's name.
        key: String,
        /// Lease time, milliseconds.
        ttl_ms: u64,
        /// Try for so long, milliseconds; 0: once.
        wait_ms: u64,
    },
    /// Hold it longer. Answered by `granted`, `refused` or `error`.
    Extend {
        /// The lock's name.
        key: String,
        /// The token of the grant.
        token: String,
        /// New lease time from now, milliseconds.
        ttl_ms: u64,
    },
    /// Give it back. Answered by `released` or `error`.
    Release {
        /// The lock's name.
        key: String,
        /// The token of the grant.
        token: String,
    },
    /// Show that you are running. Answered by `pong`.
    Ping,
}

/// What a worker writes: a reply (with the request's number) or an event (without).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Said {
    /// The answer to a request.
    Reply {
        /// The request's number.
        id: u64,
        /// The answer.
        #[serde(flatten)]
        answer: Answer,
    },
    /// Something unprompted.
    Event(Notification),
}

/// The answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Answer {
    /// To `init`.
    Ready {
        /// Name of the subject, for reports.
        #[serde(default)]
        name: Option<String>,
        /// Its version.
        #[serde(default)]
        version: Option<String>,
    },
    /// The lock is yours.
    Granted {
        /// Names the grant in `extend` and `release`.
        token: String,
        /// Fencing token, if the lock has them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fence: Option<u64>,
        /// How long, from writing this line, the client may believe that it holds, milliseconds,
        /// rounded down.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        valid_ms: Option<u64>,
        /// How long after reading the request this line was written, on a monotonic clock,
        /// milliseconds, rounded down.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<u64>,
    },
    /// Somebody else has it.
    Refused,
    /// Given back. `released`: it was ours until now, and is free.
    Released {
        /// False: it was no longer ours.
        released: bool,
    },
    /// To `ping`.
    Pong,
    /// It went wrong.
    Error {
        /// In words.
        message: String,
        /// True: certainly nothing happened. When in doubt, false.
        definite: bool,
    },
}

/// Unprompted events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Notification {
    /// A background task renewed the lease.
    Extended {
        /// The grant's token.
        token: String,
        /// Believe it for so long from writing this line, milliseconds.
        valid_ms: u64,
        /// Since the `acquire` request of this grant was read, milliseconds, monotonic.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<u64>,
    },
    /// The lease is gone: the holder must stop.
    Lost {
        /// The grant's token.
        token: String,
    },
}

//! The adapter protocol: what a driver and a worker say to each other, one JSON object a line.
//!
//! `docs/protocol.md` describes it for authors of adapters in other languages.

use std::collections::BTreeMap;
use std::time::Duration;

use picklock_scenarios::{LockFeature, TaskScope};
use serde::{Deserialize, Serialize};

/// The version of the protocol that every adapter speaks; the driver sends it in `init`.
pub const PROTOCOL: u32 = 1;

/// The versions that the driver speaks.
pub const PROTOCOLS: &[u32] = &[PROTOCOL, SHARED_PROTOCOL];

/// The version in which several clients share a process.
pub const SHARED_PROTOCOL: u32 = 2;

/// The most events of one start of a worker: a lock that renews its lease of 100 ms at half time holds it for more than a
/// quarter of an hour.
pub(crate) const MAX_EVENTS: u32 = 20_000;

/// A request, with the number that its reply must carry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Chosen by the driver; the reply carries the same.
    pub id: u64,
    /// Which client is meant, where several share the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<usize>,
    /// What is asked.
    #[serde(flatten)]
    pub ask: RequestKind,
}

/// The first request to a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Init {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// [`PROTOCOLS`]: the adapter chooses. Empty: an older driver, which speaks `protocol` alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<u32>,
    /// Number of the worker.
    pub worker: usize,
    /// One URL a node: `redis://127.0.0.1:PORT`.
    pub nodes: Vec<String>,
    /// After this long without an answer a command has failed, milliseconds.
    pub timeout_ms: u64,
    /// Seed for tokens and delays. Every start of every worker gets a different one.
    pub seed: u64,
    /// What the user gave with `--impl-option`.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// A key of the worker's own. A runtime that loads or compiles much at its first lock takes and frees one with it
    /// before it answers; `None`: it must not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<String>,
    /// The lease time of that lock, milliseconds: the one of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

impl Init {
    /// After this long without an answer a command has failed.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

/// A client begins in a process that has been initialized.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// One URL a node. Whoever gives each client connections of its own opens them there.
    pub nodes: Vec<String>,
    /// Seed for the client's tokens and delays.
    pub seed: u64,
}

/// What the driver asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub enum RequestKind {
    /// The first request: which worker it is, and where Redis is. Answered by `ready`.
    Init(Init),
    /// One more client begins in this process. Answered by `joined` or `error`. Only if the adapter offers `clients`.
    Join(Join),
    /// Take the lock. Answered by `granted`, `refused` or `error`.
    Acquire {
        /// The lock's name.
        key: String,
        /// Lease time, milliseconds.
        ttl_ms: u64,
        /// How long to try, in milliseconds; 0: once.
        wait_ms: u64,
    },
    /// Extend the lease. Answered by `granted`, `refused`, `unsupported` or `error`.
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
    /// The section of this grant has failed: leave it as an application does whose exception passes the lock. Answered by
    /// `released` or `error`; no `release` follows. Only if the adapter offers it.
    SectionFailed {
        /// The lock's name.
        key: String,
        /// The token of the grant.
        token: String,
    },
    /// Do what a `finally` does that unlocks whether or not the lock was taken. Answered by `released` or `error`. Only
    /// if the adapter offers it.
    ReleaseUnheld {
        /// The lock's name.
        key: String,
    },
    /// The client gives up this `acquire` request. It has no answer of its own: the `acquire` is answered by `cancelled`,
    /// or by what it came to before. Only if the adapter offers it.
    Cancel {
        /// The number of the `acquire` request.
        of: u64,
    },
    /// The client ends as it is, with whatever it holds, and its process lives. Answered by `ended`; nothing more is asked
    /// of it. Only if the adapter offers it.
    EndClient,
    /// Show that the worker is running. Answered by `pong`.
    Ping,
    /// Block the event loop, or the client's thread, for so long. Answered by `blocked` when that is over, or by
    /// `error`. Only if the adapter offers it.
    Block {
        /// For how long, milliseconds.
        for_ms: u64,
        /// What is blocked.
        scope: TaskScope,
    },
}

impl RequestKind {
    /// Its `op`.
    pub fn op(&self) -> &'static str {
        match self {
            RequestKind::Init(_) => "init",
            RequestKind::Join(_) => "join",
            RequestKind::Acquire { .. } => "acquire",
            RequestKind::Extend { .. } => "extend",
            RequestKind::Release { .. } => "release",
            RequestKind::SectionFailed { .. } => "section-failed",
            RequestKind::ReleaseUnheld { .. } => "release-unheld",
            RequestKind::Cancel { .. } => "cancel",
            RequestKind::EndClient => "end-client",
            RequestKind::Ping => "ping",
            RequestKind::Block { .. } => "block",
        }
    }
}

/// What a worker writes: a reply (with the request's number) or an event (without).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum WorkerMessage {
    /// The answer to a request.
    Reply {
        /// The request's number.
        id: u64,
        /// The client that had asked. It may be left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<usize>,
        /// The answer.
        #[serde(flatten)]
        answer: Answer,
    },
    /// An event.
    Event(Notification),
}

impl WorkerMessage {
    /// The answer to the request with this number. It leaves out the client.
    pub fn reply(id: u64, answer: Answer) -> Self {
        let client = None;
        WorkerMessage::Reply { id, client, answer }
    }
}

/// What an adapter offers of version 2. What it leaves out it does not offer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers {
    /// The version that it has chosen. Left out: 1, which has nothing of this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u32>,
    /// Several clients in one process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<bool>,
    /// Each client has connections of its own, to the addresses that `join` gave it. Otherwise they share theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_connections: Option<bool>,
    /// It can block its event loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_loop: Option<bool>,
    /// It can block the thread of one client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_thread: Option<bool>,
    /// An acquisition can be given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancels: Option<bool>,
    /// It can be asked to release what it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub releases_unheld: Option<bool>,
    /// It can be told that a section has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails_sections: Option<bool>,
    /// A client that has the lock can acquire it again, and is granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reentrant: Option<bool>,
    /// One client can end while the process lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_clients: Option<bool>,
}

impl Offers {
    /// True if it offers this ability.
    pub fn has(&self, feature: LockFeature) -> bool {
        let offered = match feature {
            LockFeature::Clients => self.clients,
            LockFeature::BlockLoop => self.blocks_loop,
            LockFeature::BlockThread => self.blocks_thread,
            LockFeature::Cancel => self.cancels,
            LockFeature::ReleaseUnheld => self.releases_unheld,
            LockFeature::FailSection => self.fails_sections,
            LockFeature::Reenter => self.reentrant,
            LockFeature::EndClient => self.ends_clients,
        };
        self.protocol == Some(SHARED_PROTOCOL) && offered == Some(true)
    }
}

/// The answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Answer {
    /// To `init`.
    Ready {
        /// Name of the lock, for reports. It may be left out.
        name: Option<String>,
        /// Its version. It may be left out.
        version: Option<String>,
        /// False: it cannot be extended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        extends: Option<bool>,
        /// What of version 2 it offers.
        #[serde(flatten)]
        offers: Offers,
    },
    /// To `join`: the client is ready.
    Joined,
    /// The worker has the lock.
    Granted {
        /// Identifies the grant in `extend` and `release`.
        token: String,
        /// Fencing token, if the lock has them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fence: Option<u64>,
        /// How long after writing this line the client may rely on the lock, in milliseconds,
        /// rounded down.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        valid_ms: Option<u64>,
        /// How long after reading the request this line was written, on a monotonic clock,
        /// milliseconds, rounded down.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<u64>,
    },
    /// Another client has the lock.
    Refused,
    /// To `acquire`: the client had given it up, and nothing was taken.
    Cancelled,
    /// To `extend`: the lock cannot be extended. Nothing was done.
    Unsupported {
        /// Why not, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// The lock was released.
    Released {
        /// True: the lock was still held, and is now free. False: it was no longer held. Null: the
        /// library does not say. It may not be left out.
        #[serde(deserialize_with = "Option::deserialize")]
        released: Option<bool>,
    },
    /// To `ping`.
    Pong,
    /// To `block`: it is over.
    Blocked,
    /// To `end-client`: the client has ended.
    Ended,
    /// The request failed.
    Error {
        /// What went wrong.
        message: String,
        /// True: the request certainly had no effect. When in doubt, false.
        definite: bool,
    },
}

impl Answer {
    /// Its `reply`.
    pub fn reply(&self) -> &'static str {
        match self {
            Answer::Ready { .. } => "ready",
            Answer::Joined => "joined",
            Answer::Granted { .. } => "granted",
            Answer::Refused => "refused",
            Answer::Cancelled => "cancelled",
            Answer::Unsupported { .. } => "unsupported",
            Answer::Released { .. } => "released",
            Answer::Pong => "pong",
            Answer::Blocked => "blocked",
            Answer::Ended => "ended",
            Answer::Error { .. } => "error",
        }
    }
}

impl Notification {
    /// Its `event`.
    pub fn event(&self) -> &'static str {
        match self {
            Notification::Extended { .. } => "extended",
            Notification::Lost { .. } => "lost",
        }
    }

    /// The token of the grant that it is about.
    pub fn token(&self) -> &str {
        match self {
            Notification::Extended { token, .. } | Notification::Lost { token, .. } => token,
        }
    }

    /// The client that it is about, where several share the process.
    pub fn client(&self) -> Option<usize> {
        match self {
            Notification::Extended { client, .. } | Notification::Lost { client, .. } => *client,
        }
    }
}

/// Events that no request asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Notification {
    /// A background task renewed the lease.
    Extended {
        /// The grant's token.
        token: String,
        /// How long after writing this line the client may rely on the lock, in milliseconds.
        valid_ms: u64,
        /// Since the `acquire` request of this grant was read, milliseconds, monotonic.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<u64>,
        /// Whose grant, where several clients share the process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<usize>,
    },
    /// The lease is lost: the holder must stop.
    Lost {
        /// The grant's token.
        token: String,
        /// Whose grant, where several clients share the process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<usize>,
    },
}

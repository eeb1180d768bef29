//! The messages of the adapter protocol between a driver and a worker, one JSON object per line.
//!
//! `docs/protocol.md` describes the protocol for authors of adapters in other languages.

use std::collections::BTreeMap;
use std::time::Duration;

use picklock_scenarios::{LockFeature, LockKind, TaskScope};
use serde::{Deserialize, Serialize};

/// The protocol version that every adapter supports; the driver sends it in `init`.
pub const PROTOCOL: u32 = 1;

/// The protocol versions that the driver supports.
pub const PROTOCOLS: &[u32] = &[PROTOCOL, SHARED_PROTOCOL];

/// The protocol version that allows several clients in one process.
pub const SHARED_PROTOCOL: u32 = 2;

/// Maximum number of events per start of a worker. A lock that renews a lease of 100 ms after half of it reaches this
/// number only after more than a quarter of an hour.
pub(crate) const MAX_EVENTS: u32 = 20_000;

/// A request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Number chosen by the driver, which the reply must carry.
    pub id: u64,
    /// The client that the request is for, or `None` if it has the process to itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<usize>,
    /// The operation that is requested.
    #[serde(flatten)]
    pub ask: RequestKind,
}

/// The first request to a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Init {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// The versions from which the adapter chooses: [`PROTOCOLS`]. Empty for an older driver, which supports only
    /// `protocol`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<u32>,
    /// Number of the worker.
    pub worker: usize,
    /// One URL per node: `redis://127.0.0.1:PORT`.
    pub nodes: Vec<String>,
    /// Time without a reply after which a command has failed, in milliseconds.
    pub timeout_ms: u64,
    /// Seed for tokens and delays, different for every start of every worker.
    pub seed: u64,
    /// The options that the user passed with `--impl-option`.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// A key that no other worker uses, or `None` if the worker must not warm up. A runtime that has to load or compile
    /// much code for its first lock takes and releases a lock with this key before it replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<String>,
    /// The lease time for the warm-up, in milliseconds, which is the lease time of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Number of permits that the lock may grant at the same time, or `None` for a lock with one holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u32>,
}

impl Init {
    /// Returns the number of clients that may hold the lock at the same time.
    pub fn capacity(&self) -> u32 {
        self.capacity.unwrap_or(1)
    }

    /// Returns the time without a reply after which a command has failed.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

/// The first request to a further client of a process that has been initialized.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// One URL per node. An adapter that gives each client its own connections opens them to these addresses.
    pub nodes: Vec<String>,
    /// Seed for the client's tokens and delays.
    pub seed: u64,
}

/// How a client of a read/write lock holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The client holds the lock alone, as a writer.
    Exclusive,
    /// The client holds the lock together with other readers.
    Shared,
}

/// The operations that the driver can request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub enum RequestKind {
    /// The first request, with the worker's number and the Redis nodes. Answered by `ready`.
    Init(Init),
    /// Starts one more client in this process. Answered by `joined` or `error`. Sent only if the adapter offers
    /// `clients`.
    Join(Join),
    /// Acquires the lock. Answered by `granted`, `refused` or `error`.
    Acquire {
        /// The lock's name.
        key: String,
        /// Lease time, in milliseconds.
        ttl_ms: u64,
        /// Time to keep trying, in milliseconds; 0 means one attempt.
        wait_ms: u64,
        /// Whether other holders are excluded, or `None` for a lock that is not a read/write lock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<Mode>,
        /// Number of permits of a semaphore that are acquired together, or `None` for one. Sent only if the adapter
        /// offers `several_permits`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permits: Option<u32>,
    },
    /// Extends the lease. Answered by `granted`, `refused`, `unsupported` or `error`.
    Extend {
        /// The lock's name.
        key: String,
        /// The token of the grant.
        token: String,
        /// New lease time from now, in milliseconds.
        ttl_ms: u64,
    },
    /// Requests permission to act now, for the client that leads. Answered by `acting`, `refused` or `error`. Sent only
    /// if `kinds` contains `leader`.
    Act {
        /// The lock's name.
        key: String,
        /// The token of the grant.
        token: String,
    },
    /// Releases the lock. Answered by `released` or `error`.
    Release {
        /// The lock's name.
        key: String,
        /// The token of the grant.
        token: String,
    },
    /// Ends the critical section of this grant as if an exception had propagated through the lock's guard. Answered by
    /// `released` or `error`; no `release` follows. Sent only if the adapter offers it.
    SectionFailed {
        /// The lock's name.
        key: String,
        /// The token of the grant.
        token: String,
    },
    /// Releases the lock like a `finally` block that unlocks even if the lock was not acquired. Answered by `released`
    /// or `error`. Sent only if the adapter offers it.
    ReleaseUnheld {
        /// The lock's name.
        key: String,
    },
    /// Cancels an `acquire` request. `cancel` has no separate reply. The `acquire` is answered by `cancelled`, or by
    /// its result if the result came first. Sent only if the adapter offers it.
    Cancel {
        /// The number of the `acquire` request.
        of: u64,
    },
    /// Ends the client without releasing its locks, while its process stays alive. Answered by `ended`; no further
    /// request follows. Sent only if the adapter offers it.
    EndClient,
    /// Checks that the worker is running. Answered by `pong`.
    Ping,
    /// Blocks the event loop or the client's thread for `for_ms` milliseconds. Answered by `blocked` at the end of that
    /// time, or by `error`. Sent only if the adapter offers it.
    Block {
        /// Duration of the blocking, in milliseconds.
        for_ms: u64,
        /// Whether the loop or the thread is blocked.
        scope: TaskScope,
    },
}

impl RequestKind {
    /// Returns the name of the request, which is the value of `op` in its line.
    pub fn name(&self) -> &'static str {
        match self {
            RequestKind::Init(_) => "init",
            RequestKind::Join(_) => "join",
            RequestKind::Acquire { .. } => "acquire",
            RequestKind::Extend { .. } => "extend",
            RequestKind::Act { .. } => "act",
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

/// A line that a worker writes: a reply, with the request's number, or an event, without one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a reply with `id`, or an event")]
pub enum WorkerMessage {
    /// The reply to a request.
    Reply {
        /// The request's number.
        id: u64,
        /// The client that the request was for. Optional.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<usize>,
        /// The content of the reply.
        #[serde(flatten)]
        answer: Answer,
    },
    /// An event.
    Event(Notification),
}

impl WorkerMessage {
    /// Creates the reply to the request with this number, without a client.
    pub fn reply(id: u64, answer: Answer) -> Self {
        let client = None;
        WorkerMessage::Reply { id, client, answer }
    }
}

/// The features of protocol version 2 that an adapter offers. An omitted feature is not offered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers {
    /// The version that the adapter has chosen. If omitted, the version is 1, which has none of these features.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u32>,
    /// Whether the adapter supports several clients in one process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<bool>,
    /// Whether each client has its own connections, to the addresses in its `join`. Otherwise the clients share their
    /// connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_connections: Option<bool>,
    /// Whether the adapter can block its event loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_loop: Option<bool>,
    /// Whether the adapter can block the thread of one client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_thread: Option<bool>,
    /// Whether an `acquire` can be cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancels: Option<bool>,
    /// Whether the adapter can release a lock that the client does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub releases_unheld: Option<bool>,
    /// Whether the adapter supports `section-failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails_sections: Option<bool>,
    /// Whether a client that holds the lock can acquire it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reentrant: Option<bool>,
    /// Whether one client can end while the process stays alive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_clients: Option<bool>,
    /// The kinds of locks that the adapter can provide. If omitted, it provides a lock with one holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Vec<LockKind>>,
    /// Whether one acquisition of the semaphore can take several permits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub several_permits: Option<bool>,
}

impl Offers {
    /// Returns `true` if the adapter offers this feature.
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
            LockFeature::Permits => Some(self.is(LockKind::Semaphore)),
            LockFeature::SeveralPermits => self.several_permits,
            LockFeature::SharedMode => Some(self.is(LockKind::Rwlock)),
            // The holder of a lock with one holder is the leader. This needs no feature of version 2.
            LockFeature::Leadership if self.is(LockKind::Mutex) => return true,
            LockFeature::Leadership => Some(self.is(LockKind::Leader)),
        };
        self.protocol == Some(SHARED_PROTOCOL) && offered == Some(true)
    }

    /// Returns `true` if the lock can be of this kind.
    pub fn is(&self, kind: LockKind) -> bool {
        let kinds = self.kinds.as_deref().unwrap_or(&[LockKind::Mutex]);
        kinds.contains(&kind)
    }
}

/// The replies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Answer {
    /// The reply to `init`.
    Ready {
        /// Name of the lock, for reports. Optional.
        name: Option<String>,
        /// Version of the lock. Optional.
        version: Option<String>,
        /// `false` if the lock cannot be extended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        extends: Option<bool>,
        /// How long the lock's key may stay after a release, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_hold_ms: Option<u64>,
        /// How much longer than the lease the lock's key may live, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease_margin_ms: Option<u64>,
        /// The features of version 2 that the adapter offers.
        #[serde(flatten)]
        offers: Offers,
    },
    /// The reply to `join`: the client is ready.
    Joined,
    /// The worker holds the lock.
    Granted {
        /// Identifies the grant in `extend` and `release`.
        token: String,
        /// Fencing token, if the lock provides one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fence: Option<u64>,
        /// Time after writing this line for which the client may rely on the lock, in milliseconds, rounded down.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        valid_ms: Option<u64>,
        /// Time between reading the request and writing this line, on a monotonic clock, in milliseconds, rounded
        /// down.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<u64>,
    },
    /// The client leads, and may act now.
    Acting {
        /// The client's epoch, which the resource checks. If omitted, the fencing token of the grant is the epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epoch: Option<u64>,
    },
    /// Another client holds the lock.
    Refused,
    /// The reply to an `acquire` that was cancelled and took nothing.
    Cancelled,
    /// The reply to `extend` if the lock cannot be extended. Nothing was done.
    Unsupported {
        /// An explanation for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// The reply to a release.
    Released {
        /// `true` if the lock was still held and is free now, `false` if it was no longer held, and `null` if the
        /// library does not report it. Required.
        #[serde(deserialize_with = "Option::deserialize")]
        released: Option<bool>,
    },
    /// The reply to `ping`.
    Pong,
    /// The reply to `block`, at the end of the time.
    Blocked,
    /// The reply to `end-client`: the client has ended.
    Ended,
    /// The request failed.
    Error {
        /// A description of the failure.
        message: String,
        /// `true` if the request certainly had no effect. When in doubt, `false`.
        definite: bool,
    },
}

impl Answer {
    /// Returns the value of `reply`.
    pub fn reply(&self) -> &'static str {
        match self {
            Answer::Ready { .. } => "ready",
            Answer::Joined => "joined",
            Answer::Granted { .. } => "granted",
            Answer::Acting { .. } => "acting",
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
    /// Returns the value of `event`.
    pub fn event(&self) -> &'static str {
        match self {
            Notification::Extended { .. } => "extended",
            Notification::Lost { .. } => "lost",
        }
    }

    /// Returns the token of the grant that the event concerns.
    pub fn token(&self) -> &str {
        match self {
            Notification::Extended { token, .. } | Notification::Lost { token, .. } => token,
        }
    }

    /// Returns the client that the event concerns, if several share the process.
    pub fn client(&self) -> Option<usize> {
        match self {
            Notification::Extended { client, .. } | Notification::Lost { client, .. } => *client,
        }
    }
}

/// Unprompted events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Notification {
    /// A background task renewed the lease.
    Extended {
        /// The grant's token.
        token: String,
        /// Time after writing this line for which the client may rely on the lock, in milliseconds.
        valid_ms: u64,
        /// Time since the `acquire` request of this grant was read, on a monotonic clock, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<u64>,
        /// The client that holds the grant, if several share the process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<usize>,
    },
    /// The lease is lost, and the holder must stop.
    Lost {
        /// The grant's token.
        token: String,
        /// The client that held the grant, if several share the process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<usize>,
    },
}

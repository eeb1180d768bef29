//! The proxy between every worker and every node.
//!
//! There is one link per (worker, node) pair, and one listener per link. A link understands RESP 2 and 3. It can delay,
//! drop, hold or stop a single command or a single reply. It passes each frame to an interceptor, which can make the
//! frame wait, and writes the command log. The path of a byte, for one direction of one connection:
//!
//! ```text
//!            read                     find frames       classify them
//!   worker ───────> frame_reader ──────────────> scan ───────────────> command / reply_kind
//!                                                                       + pending (FIFO)
//!                                                                            │
//!             ┌──── no fault matches, interceptor not armed, nothing waits ──┤
//!             │                                                              │ otherwise
//!             │ fast path: the whole chunk             slow path: frame by frame
//!             │ one clock read, one log lock             interceptor ─> barrier? wait
//!             │                                          fault_rules ─> drop: log, done (or reset)
//!             │                                               │ delay, hold: not before ...
//!             v                                               v
//!           write <──── first, due, not stopped ───────── link_state: a queue,
//!             │                                           driven by send_queue
//!             v
//!            node
//! ```
//!
//! Replies travel the same way in the other direction, through a second pump. The invariants:
//!
//! - **A frame is forwarded whole or not at all**, unless its connection is cut. An incomplete frame at the end of
//!   a chunk waits for its last byte.
//! - **Nothing overtakes** within one direction of one connection. A barrier stops only that direction.
//! - **A request becomes pending just before its first byte is written.** A dropped request never becomes pending, so
//!   that replies are still matched to the right requests.
//! - **A byte stream never has a gap.** Frames after a dropped frame are dropped with it, or the connection is
//!   reset: a client that pipelines commands would otherwise match every later reply to the wrong command.
//! - **Memory is bounded.** If a send queue is full, the proxy stops reading, and TCP slows the sender down. A frame
//!   larger than 8 MiB is not parsed. Neither is an incomplete frame while all connections together exceed the buffer
//!   budget (`frame_budget`).
//! - **Bytes that are not RESP pass unchanged.** The log records this once, and the connection becomes a byte pipe.
//!   Partition, cut, delay and hold still work on a byte pipe, chunk by chunk; drop does not.
//!
//! The proxy neither changes nor reorders frames. It answers a command itself only if a fault requires that
//! (`refused_command`). The server then receives a substitute that it refuses, so that replies stay in order and a
//! transaction fails as it would without the proxy. The proxy connects to loopback addresses only, and serves only
//! clients of its own user (`client_user`). It logs in to servers that require a password (`login`).
//!
//! With Sentinels, a node has several servers that can become its master. Each server has its own link, and all of
//! these links count as links to that node. The links to the Sentinels themselves (`sentinel_link`) only replace
//! addresses in the Sentinels' replies and messages.
//!
//! If a fault waits for the command that takes a lock, or for a command that names the lock's key, the proxy holds
//! frames back until the effects of their commands on the keys, and the keys that hold locks, are known
//! (`acquire_detection`).
//!
//! The proxy also detects data from a worker that is frozen or dead (`freeze_monitor`), and records what it could
//! not do or refused (`incidents`).
//!
//! Behind the links to the masters of a Redis Cluster, a relay replaces the addresses that they announce
//! (`cluster_link`).
//!
//! The code that decides the effect of a fault on a link (`fault_rules`, `link_state`) uses neither sockets nor a
//! clock. The simulated network runs the same code, and writes the same log.

mod addresses;
mod client_user;
mod command_log;
mod connection;
mod connection_setup;
mod connection_state;
mod derived_keys;
mod faults;
mod freeze_monitor;
mod incidents;
mod interceptor;
mod link;
mod links;
mod login;
mod operation;
mod proxy_state;
mod pump;
mod resp;
mod send_queue;
mod tcp_queues;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use addresses::address_rewrite::{AddressMap, rewrite_addresses};
pub use addresses::sentinel_link::SentinelAddresses;
pub use client_user::is_own_user;
pub use command_log::acquire_detection::{CommandEffect, EffectQuery, LockEffect};
pub use command_log::acquire_traffic::{CommandsSent, IdleWait};
pub use command_log::log::{CommandLog, FORMAT};
pub use command_log::log_entry::{FrameOutcome, LogEntry};
pub use command_log::sent_requests::SentRequests;
pub use faults::fault::{Effect, ImposedId, LinkFault};
pub use freeze_monitor::{FreezeBreach, FreezeMonitor};
pub use incidents::ProxyIncident;
pub use interceptor::{FrameBarrier, InterceptedFrame, Interceptor, NoInterceptor};
pub use link::LinkId;
pub use links::Proxy;
pub use resp::reply_stream::ReplyStream;

pub(crate) use command_log::acquire_detection::{may_take, may_take_free_key, may_write};
pub(crate) use command_log::acquire_traffic::AcquireTraffic;
pub(crate) use command_log::answered::Answered;
pub(crate) use command_log::last_commands::LastCommands;
pub(crate) use command_log::log_record::{LogRecord, preview_of_command, preview_of_reply};
pub(crate) use command_log::sent_requests::ExecutedRequest;
pub(crate) use derived_keys::DerivedKeys;
pub(crate) use faults::fault_rules::{FrameDecision, PassConditions};
pub(crate) use faults::imposed_faults::ImposedFaults;
pub(crate) use faults::link_state::{LinkState, Step, held_back, is_handshake_blocked};
pub(crate) use faults::refused_command::REFUSED;
#[cfg(feature = "servers")]
pub(crate) use incidents::is_resource_exhaustion;
pub(crate) use resp::command::CommandName;
pub(crate) use resp::reply_stream::bulk_strings;

/// Locks `mutex`, and ignores poisoning, because the values that the proxy guards are consistent between any two
/// statements.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

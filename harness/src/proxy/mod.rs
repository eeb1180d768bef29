//! The proxy: a proxy between every worker and every node.
//!
//! There is one link for each worker and node, and one listener for each link. A link understands
//! RESP 2 and 3; can delay, drop, hold or stop a single command or a single reply; shows each frame
//! to an interceptor, which can make it wait; and keeps the command log.
//!
//! The path of a byte, for one direction of one connection:
//!
//! ```text
//!            read                     find frames       what are they?
//!   worker ───────> frame_reader ──────────────> scan ───────────────> command / reply_kind
//!                                                                       + pending (FIFO)
//!                                                                            │
//!             ┌──── no fault matches, interceptor not armed, nothing waits ──┤
//!             │                                                              │ otherwise
//!             │ fast path: the whole chunk             slow path: frame by frame
//!             │ one clock read, one log lock             interceptor ─> gate? wait
//!             │                                          fault_rules ─> drop: log, done (or reset)
//!             │                                               │ delay, hold: not before ...
//!             v                                               v
//!           write <──── first, due, not stopped ───────── link_state: a queue,
//!             │                                           driven by send_queue
//!             v
//!            node
//! ```
//!
//! Replies come back the same way through a pump of their own. The invariants:
//!
//! - **A frame is forwarded whole or not at all**, unless its connection is cut. The last frame of
//!   a chunk waits for its last byte.
//! - **Nothing overtakes** within one direction of one connection; a gate stops that direction and
//!   nothing else.
//! - **A request is pending from just before its first byte is written.** A dropped one never is,
//!   so replies keep matching.
//! - **A byte stream never has a hole.** What would follow a dropped frame is dropped with it, or resets the
//!   connection: a client that sends several commands at once would match every later reply wrongly.
//! - **Memory is bounded**: a full send queue stops the reading, and TCP slows the sender. A frame
//!   beyond 8 MiB is not parsed, nor one that is not whole while all connections together keep too
//!   much (`frame_budget`).
//! - **What is not RESP passes unchanged.** The log notes it once, and the connection is a byte
//!   pipe from there: partition, cut, delay and hold still work, on chunks; drop does not.
//!
//! The proxy does not change or reorder anything, and answers only where a fault says so (`refused_command`): the
//! server then gets, in the place of the command, one that it refuses, so that replies stay in order and a
//! transaction fails as it would. It leads to loopback addresses only. It serves
//! clients of its own user only (`client_user`), and logs in to servers that want a password (`login`):
//! what comes from a worker reaches them as it is.
//! A node with Sentinels has several servers that can be its master: each has a link of its own,
//! and all count as that node. The links to the Sentinels themselves are different
//! (`sentinel_link`): they replace addresses in what the Sentinels send, and do nothing else.
//!
//! Where a fault waits for the command that takes a lock, or for one that names the lock's key, the proxy
//! holds frames back until it is known what their command did to the keys, and which keys hold locks
//! (`acquire_detection`).
//!
//! The proxy also knows whether something came from a worker that was frozen or dead (`freeze_check`), and
//! what it could not do (`resource_exhaustion`).
//!
//! Behind the links to the masters of a Redis Cluster a relay replaces the addresses that they name (`cluster_link`).
//!
//! What a fault means for a link (`fault_rules`, `link_state`) knows neither sockets nor time. The
//! simulated network drives the same code, and writes the same log.

mod addresses;
mod client_user;
mod command_log;
mod connection;
mod connection_setup;
mod connection_state;
mod faults;
mod freeze_check;
mod interceptor;
mod link;
mod login;
mod proxy;
mod proxy_state;
mod pump;
mod resource_exhaustion;
mod resp;
mod send_queue;
mod tcp_queues;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use addresses::address_rewrite::{AddressMap, rewrite_addresses};
pub use addresses::sentinel_link::SentinelAddresses;
pub use command_log::acquire_detection::{AcquireQuestion, Acquired, CommandEffect};
pub use command_log::acquire_traffic::{CommandsSent, IdleWait};
pub use command_log::log::{CommandLog, FORMAT};
pub use command_log::log_entry::{FrameOutcome, LogEntry};
pub use command_log::sent_requests::SentRequests;
pub use faults::fault::{Effect, ImposedId, LinkFault};
pub use freeze_check::{FreezeBreach, FreezeMonitor};
pub use interceptor::{FrameBarrier, InterceptedFrame, Interceptor, NoInterceptor};
pub use link::LinkId;
pub use proxy::Proxy;
pub use resource_exhaustion::ProxyIncident;
pub use resp::reply_stream::ReplyStream;

pub(crate) use command_log::acquire_detection::{may_take, may_take_free_key, may_write};
pub(crate) use command_log::acquire_traffic::AcquireTraffic;
pub(crate) use command_log::answered::Answered;
pub(crate) use command_log::derived_keys::DerivedKeys;
pub(crate) use command_log::last_commands::LastCommands;
pub(crate) use command_log::log_record::{LogRecord, preview_of_command, preview_of_reply};
pub(crate) use command_log::sent_requests::ExecutedRequest;
pub(crate) use faults::fault_rules::{Terms, Verdict};
pub(crate) use faults::imposed_faults::ImposedFaults;
pub(crate) use faults::link_state::{LinkState, Step, held_back, is_handshake_blocked};
pub(crate) use faults::refused_command::REFUSED;
#[cfg(feature = "servers")]
pub(crate) use resource_exhaustion::is_resource_exhaustion;
pub(crate) use resp::command::CommandName;
pub(crate) use resp::reply_stream::bulk_strings;

/// Locks something that is complete between two statements: a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

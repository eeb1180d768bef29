//! The wire: what stands between every worker and every node.
//!
//! One link for each (worker, node), one listener for each link. A link understands RESP 2 and 3,
//! can delay, drop, hold or stop a single command or a single reply, lets a watcher strike at the
//! very frame it waited for, and keeps the command log.
//!
//! The path of a byte, for one direction of one connection:
//!
//! ```text
//!            read                     find frames        what are they?
//!   worker ───────> intake: a buffer ────────────> scan ────────────────> command / codec
//!                                                                          + pending (FIFO)
//!                                                                               │
//!                 ┌──── nothing imposed here, watcher not armed, nothing waits ─┤
//!                 │                                                             │ otherwise
//!                 │ fast path: the whole chunk              slow path: frame by frame
//!                 │ one clock read, one log visit             watcher.sight ─> gate? wait
//!                 │                                           faults.rule  ─> drop: log, gone
//!                 │                                                │ delay, hold: not before ...
//!                 v                                                v
//!               write <──── its turn, no partition, not held ──── outlet: a queue
//!                 │                (logged as it goes)
//!                 v
//!               node
//! ```
//!
//! Replies come back the same way through a pump of their own. What holds:
//!
//! - **A frame is forwarded whole or not at all**, unless its connection is cut. The last frame of
//!   a chunk waits for its last byte.
//! - **Nothing overtakes** within one direction of one connection; a gate stops that direction and
//!   nothing else.
//! - **A request is pending from just before its first byte is written.** A swallowed one never
//!   is, so replies keep matching.
//! - **Memory is bounded**: a full outlet stops the reading, and TCP slows the sender. A frame
//!   beyond 64 MiB is not understood.
//! - **What is not RESP passes as it is.** It is noted once, and its connection is a byte pipe
//!   from there: partition, cut, delay and hold still work, on chunks; drop does not.
//!
//! The wire does not answer, change or reorder anything, and leads to loopback addresses only.
//! A node with Sentinels has several servers that can be its master: each has a link of its own,
//! and all count as that node. The links to the Sentinels themselves are another matter
//! (`sentinel_link`): they replace addresses in what the Sentinels say, and do nothing else.

#[cfg(test)]
mod agreement;
mod announce;
mod codec;
mod command;
mod connection;
mod entry;
mod fabric;
mod fault;
mod intake;
mod link;
mod log;
mod outlet;
mod passage;
mod passed;
mod pending;
mod pump;
mod reply_scan;
mod request_scan;
mod ruling;
mod scan;
mod sentinel_link;
mod stamp;
mod watch;

pub use entry::{Entry, Outcome};
pub use fabric::Wire;
pub use fault::{Effect, ImposedId, LinkFault};
pub use link::LinkId;
pub use log::{FORMAT, WireLog};
pub use sentinel_link::SentinelAt;
pub use watch::{Gate, NoWatcher, Sight, Watcher};

// The simulated network rules on its frames by the same faults, and writes the same log.
pub(crate) use passed::Passed;
pub(crate) use ruling::{FaultView, Faults, Ruling};

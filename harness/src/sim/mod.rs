//! The simulated backend: the same locks, driver, nemesis and checkers in virtual time.
//!
//! The path of a command, and back the path of its reply:
//!
//! ```text
//!   connection ──> client_endpoint ──> submission_queue ──> network
//!   (redis-rs)     (waits for reply)   (of this thread)     │
//!                                                           v
//!            node <── ingress <── event_queue <── egress: interceptor, gate, then
//!                                (latency, from           the proxy's link_state, one for each
//!                                 the seed)               direction of a connection_state
//! ```
//!
//! `network` is the one task that does this; `network_state` is what it knows; `log_writer` writes
//! the frames into a command log, where one is wanted.
//!
//! What is published takes the same way as a reply, and ends in the inbox of a `subscription`.
//!
//! Time is tokio's paused clock, which jumps to the next event. The network keeps its own times in
//! nanoseconds, so that two frames are never in a tie by accident; the clock that workers see moves
//! in steps of a millisecond, because tokio's timers do.
//!
//! The simulation opens no socket, reads no real clock into a history, and starts no process. What
//! does not follow from seed and scenario does not reach the history.

mod args;
mod backend;
mod batch;
mod client_endpoint;
mod connection;
mod connection_state;
mod egress;
mod event_queue;
mod frame;
mod host;
mod ingress;
mod log_writer;
mod network;
mod network_state;
mod node;
mod node_observer;
mod run_budget;
mod runner;
mod submission_queue;
mod subscription;
mod timer;
mod turns;
mod wall_clock;
mod watchdog;

pub use crate::lock_factory::LockFactory;
pub use backend::SimBackend;
pub use batch::{run, run_many, run_with_patience};
pub use node_observer::{NodeObserver, NodeObservers, NodeStep, ObservedNode, ObservedServers};
pub use runner::{SimError, Simulation, run_observed};

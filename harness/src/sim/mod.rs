//! The simulated backend. It uses the same locks, driver, nemesis and checkers as a real run, in virtual time.
//!
//! A command takes this path. Its reply takes the same path in the opposite direction.
//!
//! ```text
//!   connection ──> client_endpoint ──> submission_queue ──> network
//!   (redis-rs)     (waits for reply)   (per thread)         │
//!                                                           v
//!            node <── ingress <── event_queue <── egress: interceptor, barrier, then
//!                                (latency, from           the proxy's link_state, one for each
//!                                 the seed)               direction of a connection_state
//! ```
//!
//! `network` is the only task that carries frames. Its data is in `network_state`. `log_writer` writes the frames to a
//! command log if the run has one. Published messages take the same path as replies, and are delivered to the inbox of
//! a `subscription`.
//!
//! Virtual time is tokio's paused clock, which jumps to the next event. The network computes its times in nanoseconds,
//! so that two frames rarely arrive at the same time. The clock that workers read advances in steps of a millisecond,
//! like tokio's timers.
//!
//! The simulation opens no socket, starts no process and writes no real time to a history. The
//! history depends only on the seed and the scenario.

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

//! The harness from the outside, in one binary.
//!
//! - [`sim`]: the simulated backend; needs nothing
//! - [`articles`]: what articles say of the built-in locks; needs nothing
//! - [`proxy`]: the links between real sockets; needs nothing
//! - [`adapter`]: the adapter protocol; needs `redis-server`
//! - [`real`]: Redis servers as processes and in containers, and adapters in Python;
//!   needs `redis-server`, Docker and redis-py
//!
//! What a test needs and does not find is a failure that says how to get it: nothing is skipped.
//! The quick tier leaves out the modules named `real` (see CONTRIBUTING.md).

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test's helper functions are tests too, and a run in another process speaks to its test"
)]

mod adapter;
mod articles;
mod proxy;
mod real;
mod search;
mod sim;

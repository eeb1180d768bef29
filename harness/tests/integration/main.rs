//! Integration tests of the harness, in one binary.
//!
//! - [`sim`]: the simulated backend; needs nothing
//! - [`articles`]: claims that articles make about the built-in locks; needs nothing
//! - [`proxy`]: the links between real sockets; needs nothing
//! - [`adapter`]: the adapter protocol; needs `redis-server`
//! - [`real`]: Redis servers as processes and in containers, and adapters in Python; needs `redis-server`, Docker and
//!   redis-py
//!
//! A missing requirement is a failure that explains how to install it: nothing is skipped. The quick tier leaves out
//! the modules named `real` (see CONTRIBUTING.md).

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helper functions of tests are test code, and a run in another process reports to its test on stdout"
)]

mod adapter;
mod articles;
mod proxy;
mod real;
mod search;
mod sim;

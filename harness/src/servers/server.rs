//! Operations that differ between kinds of servers: starting one, freezing it, killing it and reading its log. All
//! other operations are in [`Servers`](super::Servers), for all kinds.
//!
//! A new kind is one file with a [`Host`] and its [`Server`], a variant of
//! [`ServerKind`](super::ServerKind), and a line in [`Servers::start`](super::Servers::start).

use std::net::SocketAddr;

use futures_util::future::LocalBoxFuture;

use super::node_log::describe_tail;
use super::server_order::ServerOrder;
use super::{BackendError, ServerAddress};
use crate::record;

/// The future of an operation on a server.
pub(super) type ServerFuture<'a, T = ()> = LocalBoxFuture<'a, Result<T, BackendError>>;

/// The events that a server reports about its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyReport {
    /// The commands that it executes, and the keys that expire or are evicted.
    Everything,
    /// Only the commands, because the settings of an external server exclude the other events.
    Commands,
    /// Nothing; contains the reason.
    Nothing(String),
}

/// Starts the servers of one kind, for one run.
pub(super) trait Host {
    /// Starts a server, and waits until it accepts connections. A start that fails or is cancelled leaves at most what
    /// [`abandon`](Host::abandon) and the reaper can find.
    fn start(&self, order: ServerOrder) -> ServerFuture<'_, Box<dyn Server>>;

    /// Removes leftovers of cancelled starts.
    fn abandon(&self) -> LocalBoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Removes the remaining objects after all servers have been stopped.
    fn end(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Returns the value of the label `picklock.run` of its containers, or `None` if it has none.
    fn run_id(&self) -> Option<&str> {
        None
    }
}

/// One server or Sentinel.
pub(super) trait Server {
    /// Returns the server's address on loopback.
    fn address(&self) -> ServerAddress;

    /// Returns the server's PID, if it is a running process of this machine.
    fn process_id(&self) -> Option<u32> {
        None
    }

    /// Returns the server's name and version, if they are already known.
    fn identity(&self) -> Option<record::Redis> {
        None
    }

    /// Returns the events that the server reports about its keys.
    fn report(&self) -> KeyReport {
        KeyReport::Everything
    }

    /// Returns the address under which other servers reach this one.
    fn announced(&self) -> ServerFuture<'_, SocketAddr>;

    /// Returns `true` if the server may have another announced address after a restart.
    fn moves(&self) -> bool {
        false
    }

    /// Freezes the server. Returns after it has stopped.
    fn pause(&self) -> ServerFuture<'_>;

    /// Thaws the server.
    fn resume(&self) -> ServerFuture<'_>;

    /// Returns an error if the server is down.
    fn check_is_up(&self) -> ServerFuture<'_>;

    /// Kills the server, frozen or not. Returns after it has died.
    fn kill(&self) -> ServerFuture<'_>;

    /// Restarts the killed server. Returns when it answers.
    fn restart(&self) -> ServerFuture<'_>;

    /// Kills the server if it is up, and writes its log to the file from its order.
    fn end(&self) -> ServerFuture<'_>;

    /// Returns the last lines of the log, or nothing if it cannot be read.
    fn log_tail(&self, lines: usize) -> LocalBoxFuture<'_, String>;

    /// Describes the server's condition for the end of an error message.
    fn condition(&self) -> LocalBoxFuture<'_, String> {
        Box::pin(async move { describe_tail(&self.log_tail(10).await) })
    }
}

//! What differs between the kinds of servers: how one is started, frozen, killed and asked for its log.
//! Everything else is in [`Servers`](super::Servers), once for all kinds.
//!
//! A new kind is one file with a [`Host`] and its [`Server`], a variant of
//! [`ServerKind`](super::ServerKind), and a line in [`Servers::start`](super::Servers::start).

use std::net::SocketAddr;

use futures_util::future::LocalBoxFuture;

use super::node_log::worker_stderr;
use super::server_order::ServerOrder;
use super::{BackendError, ServerAddress};
use crate::record;

/// What comes of a request to a server.
pub(super) type Answer<'a, T = ()> = LocalBoxFuture<'a, Result<T, BackendError>>;

/// What a server tells of its keys to those who watch it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyReport {
    /// The commands that it executes, and the keys that expire or are evicted.
    Everything,
    /// The commands alone: its settings, which are not ours, keep it from telling the rest.
    Commands,
    /// Nothing, for this reason in its words.
    Nothing(String),
}

/// What starts the servers of one kind, for one run.
pub(super) trait Host {
    /// Starts a server, and waits until it accepts connections. A start that fails or is cancelled leaves
    /// nothing, or what [`abandon`](Host::abandon) and the reaper find.
    fn start(&self, order: ServerOrder) -> Answer<'_, Box<dyn Server>>;

    /// Removes what starts that were cancelled have left.
    fn abandon(&self) -> LocalBoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Removes what is left now that all servers have ended.
    fn end(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The value of the label `picklock.run` of its containers; `None`: it has none.
    fn run_id(&self) -> Option<&str> {
        None
    }
}

/// One server or Sentinel.
pub(super) trait Server {
    /// Where it listens, on loopback.
    fn address(&self) -> ServerAddress;

    /// The id of its process, where it is one of this machine and runs.
    fn process_id(&self) -> Option<u32> {
        None
    }

    /// Its name and version, where they are known already.
    fn identity(&self) -> Option<record::Redis> {
        None
    }

    /// What it tells of its keys.
    fn report(&self) -> KeyReport {
        KeyReport::Everything
    }

    /// Where other servers find it.
    fn announced(&self) -> Answer<'_, SocketAddr>;

    /// True if other servers may find it elsewhere after a restart, so that they have to be told.
    fn moves(&self) -> bool {
        false
    }

    /// Freezes it. It has stopped when this returns.
    fn pause(&self) -> Answer<'_>;

    /// Thaws it.
    fn resume(&self) -> Answer<'_>;

    /// `Err`: it is down.
    fn must_run(&self) -> Answer<'_>;

    /// Kills it, frozen or not. It is dead when this returns.
    fn kill(&self) -> Answer<'_>;

    /// Starts the killed server again. It answers when this returns.
    fn restart(&self) -> Answer<'_>;

    /// Kills it if it is up, and leaves its log in the file of its order.
    fn end(&self) -> Answer<'_>;

    /// The last lines of its log; empty if it cannot be read.
    fn log_tail(&self, lines: usize) -> LocalBoxFuture<'_, String>;

    /// How it is, as the end of an error message.
    fn condition(&self) -> LocalBoxFuture<'_, String> {
        Box::pin(async move { worker_stderr(&self.log_tail(10).await) })
    }
}

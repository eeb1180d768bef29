//! The state of one connection on the server.

use std::collections::BTreeSet;

/// A connection to a [`super::Server`]. Numbers are not reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub u32);

/// One connection.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// The database selected with `SELECT`.
    pub database: usize,
    /// Whether the client has chosen RESP3 with `HELLO 3`.
    pub resp3: bool,
    /// The transaction, between `MULTI` and `EXEC`.
    pub transaction: Option<Transaction>,
    /// Keys from `WATCH`.
    pub watched: Vec<Watched>,
    /// Whether a watched key has changed.
    pub dirty: bool,
    /// Channels from `SUBSCRIBE`.
    pub channels: BTreeSet<Vec<u8>>,
    /// Patterns from `PSUBSCRIBE`.
    pub patterns: BTreeSet<Vec<u8>>,
    /// Number of recorded changes when this connection last sent a command. `WAIT` waits until replicas have received
    /// them.
    pub recorded: u64,
    /// Whether a blocking command of the client is waiting.
    pub blocked: bool,
}

impl Session {
    /// Returns `true` for a RESP2 connection with subscriptions, which may send only a few commands.
    pub(super) fn only_listens(&self) -> bool {
        let subscribed = !self.channels.is_empty() || !self.patterns.is_empty();
        subscribed && !self.resp3
    }
}

/// Commands that wait for `EXEC`.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// Name and arguments of each command.
    pub queue: Vec<Vec<Vec<u8>>>,
    /// Whether one of the commands was refused, so that `EXEC` fails.
    pub broken: bool,
}

/// One watched key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Watched {
    pub database: usize,
    pub key: Vec<u8>,
    /// Whether the key had expired when the watch began, and had not been removed yet.
    pub expired: bool,
}

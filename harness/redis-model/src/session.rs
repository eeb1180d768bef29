//! What a server stores for one connection.

use std::collections::BTreeSet;

/// A connection to a [`super::Server`]. Numbers are not reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub u32);

/// One connection.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Set with `SELECT`.
    pub database: usize,
    /// Set with `HELLO 3`.
    pub resp3: bool,
    /// Between `MULTI` and `EXEC`.
    pub transaction: Option<Transaction>,
    /// Keys from `WATCH`.
    pub watched: Vec<Watched>,
    /// A watched key has changed.
    pub dirty: bool,
    /// Channels from `SUBSCRIBE`.
    pub channels: BTreeSet<Vec<u8>>,
    /// Patterns from `PSUBSCRIBE`.
    pub patterns: BTreeSet<Vec<u8>>,
    /// How many changes the server had recorded when this connection last sent a command. Its
    /// `WAIT` waits for these.
    pub recorded: u64,
    /// Blocked in a command.
    pub blocked: bool,
}

impl Session {
    /// True if it speaks RESP2 and has subscriptions: it can then send few commands.
    pub(super) fn only_listens(&self) -> bool {
        let subscribed = !self.channels.is_empty() || !self.patterns.is_empty();
        subscribed && !self.resp3
    }
}

/// Commands that wait for `EXEC`.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// Name and arguments of each.
    pub queue: Vec<Vec<Vec<u8>>>,
    /// One of them was refused, so `EXEC` fails.
    pub broken: bool,
}

/// One watched key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Watched {
    pub database: usize,
    pub key: Vec<u8>,
    /// It had already expired when the watch began, and had not been removed yet.
    pub expired: bool,
}

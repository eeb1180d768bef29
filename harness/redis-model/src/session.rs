//! What a server remembers of one connection.

use std::collections::BTreeSet;

/// A connection to a [`super::Server`]. Numbers are not used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub u32);

/// One connection.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Chosen with `SELECT`.
    pub database: usize,
    /// Chosen with `HELLO 3`.
    pub resp3: bool,
    /// Chosen with `CLIENT SETNAME`.
    pub name: Vec<u8>,
    /// Between `MULTI` and `EXEC`.
    pub transaction: Option<Transaction>,
    /// Keys from `WATCH`.
    pub watched: Vec<Watched>,
    /// A watched key has changed.
    pub dirty: bool,
    /// Channels from `SUBSCRIBE`.
    pub channels: BTreeSet<Vec<u8>>,
    /// How many changes the server had recorded when this connection last gave a command: what
    /// its `WAIT` waits for.
    pub recorded: u64,
    /// Waits in a blocking command.
    pub blocked: bool,
}

/// Commands that wait for `EXEC`.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// Name and arguments of each.
    pub queue: Vec<Vec<Vec<u8>>>,
    /// One of them was refused, so `EXEC` refuses all.
    pub broken: bool,
}

/// One watched key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Watched {
    pub database: usize,
    pub key: Vec<u8>,
    /// It had already expired when it was watched, and nobody had noticed.
    pub expired: bool,
}

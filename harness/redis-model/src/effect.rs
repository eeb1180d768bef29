//! The changes of a command, as a server sends them to its replicas and its append-only file.

/// One command in the form in which it is replicated: deterministic, with absolute expiry.
///
/// A real server replicates the effects of one call of [`super::Server::execute`] as one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The database to which the command applies.
    pub database: usize,
    /// Name and arguments.
    pub args: Vec<Vec<u8>>,
}

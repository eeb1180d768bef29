//! The changes of a command, as a server sends them to its replicas and its append-only file.

/// One command in the form in which it is replicated: deterministic, with absolute expiry.
///
/// The effects of one call of [`super::Server::execute`] belong together: a server sends them as one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The database that it applies to.
    pub database: usize,
    /// Name and arguments.
    pub args: Vec<Vec<u8>>,
}

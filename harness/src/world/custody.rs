//! The account of the nodes' keys: who wrote which value, and how it went away.

use std::future::Future;

use crate::history::Event;

/// What the servers saw.
pub trait Custody {
    /// Every change of the nodes' keys so far, as events in the order of time.
    ///
    /// # Errors
    /// There is no account in this run, or it is not complete: why, in words.
    fn key_changes(&self) -> impl Future<Output = Result<Vec<Event>, String>>;
}

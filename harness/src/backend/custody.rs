//! The custody of the nodes' keys: who wrote which value, and how it went away.

use std::future::Future;

use crate::history::{CustodyCheck, Event};

/// What the servers saw.
pub trait Custody {
    /// Every change of the nodes' keys so far, as events in the order of time.
    ///
    /// # Errors
    /// There is no custody in this run, or it is not complete: why, in words.
    fn key_changes(&self) -> impl Future<Output = Result<Vec<Event>, String>>;

    /// What a look at the servers' keys has confirmed of the changes that [`Custody::key_changes`] has
    /// given; `None`: nobody has looked.
    fn custody_check(&self) -> impl Future<Output = Option<CustodyCheck>>;

    /// For each of these locks, the names of the keys that hold it on a node now: its own, and those
    /// that it has written under other names. Without custody none.
    fn keys_of(&self, node: usize, locks: &[String]) -> impl Future<Output = Vec<Vec<String>>>;
}

//! Who watches the wire: the nemesis, which strikes at the very frame it waited for.

use std::future::Future;
use std::pin::Pin;

use picklock_scenarios::{Direction, Phase};

use super::LinkId;

/// A frame waits until this is ready.
pub type Gate = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Sees each frame that has come whole to the wire, before one byte of it goes on.
pub trait Watcher: Send + Sync {
    /// False: no frame need be shown. Read for every chunk, so it must be as cheap as an atomic.
    fn armed(&self) -> bool;

    /// A frame is about to go on. `None`: let it. With a gate it waits, and everything behind it
    /// in its direction of its connection, until the gate is ready; only then are the imposed
    /// faults consulted for it, so that a strike can drop exactly this frame (name
    /// [`Sight::conn`] in the fault).
    fn sight(&self, sight: &Sight<'_>) -> Option<Gate>;
}

/// A frame on the wire, as a watcher sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight<'a> {
    /// When it came, on the run's clock.
    pub at_ns: u64,
    /// Between whom.
    pub link: LinkId,
    /// Number of the connection; no two of a run share one.
    pub conn: u64,
    /// A command, or a reply.
    pub direction: Direction,
    /// The command in upper case; for a reply, of the request that it answers; empty for a reply
    /// that answers none.
    pub command: &'a str,
    /// A reply that is an error.
    pub is_error: bool,
    /// The lock's key that the command names, by its position in the run's list of keys.
    pub key: Option<u32>,
    /// The attempt that the worker was busy with when the command came.
    pub op: u64,
    /// What the worker had been asked for when the command came.
    pub phase: Phase,
}

/// Watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWatcher;

impl Watcher for NoWatcher {
    fn armed(&self) -> bool {
        false
    }

    fn sight(&self, _: &Sight<'_>) -> Option<Gate> {
        None
    }
}

//! The subjects: built-in lock strategies on Redis.
//!
//! This crate imports no other crate of the workspace: a subject cannot know that it is tested.
//! It reads no clock and no entropy but those of its [`Context`], and talks to Redis only through
//! redis-rs's `ConnectionLike`.

mod context;
mod contract;
mod node;

pub use context::{Context, WallClock};
pub use contract::{DynLock, Grant, Lock, LockError, LockFuture, Notice};
pub use node::{Node, SharedConnection};

/// A built-in strategy: what a user can name after `--impl`.
pub struct Strategy {
    /// The name on the command line.
    pub name: &'static str,
    /// One line: what it does.
    pub summary: &'static str,
    /// How many independent Redis nodes it wants.
    pub nodes: usize,
    /// Makes one client of the lock.
    pub build: fn(Vec<Node>, Context) -> Box<dyn DynLock>,
}

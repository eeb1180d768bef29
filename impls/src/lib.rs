//! The subjects: built-in lock strategies on Redis.
//!
//! This crate imports no other crate of the workspace: a subject cannot know that it is tested.
//! It reads no wall clock and no entropy but those of its [`Context`], measures time only with
//! its own monotonic stopwatch, and talks to Redis only through redis-rs's `ConnectionLike`.
//!
//! - the contract: [`Lock`], [`Grant`], [`LockError`]
//! - what a strategy is given: [`Node`] and [`Context`]
//! - what its user can choose: [`OptionSpec`], and [`Options`] once they are checked
//! - what strategies are made of: lease, attempts with patience, renewal, stopwatch, token, one
//!   node or a quorum
//! - [`STRATEGIES`], one file each, and [`MUTANTS`], which are broken on purpose

mod attempts;
mod context;
mod contract;
mod lease;
mod node;
mod options;
mod patience;
mod quorum;
mod renewal;
mod renewing;
mod single_node;
mod span;
mod stopwatch;
mod token;

/// The locks.
mod strategies {
    pub(crate) mod fenced;
    pub(crate) mod get_then_del;
    pub(crate) mod getset;
    pub(crate) mod lock_take;
    pub(crate) mod redlock;
    pub(crate) mod redlock_renewing;
    pub(crate) mod replicated;
    pub(crate) mod set_nx_px;
    pub(crate) mod setnx_expire;
    pub(crate) mod setnx_lua;
    pub(crate) mod watchdog;
}

/// Locks that are broken on purpose: the positive controls.
mod mutants {
    pub(crate) mod expired_is_held;
    pub(crate) mod fence_per_client;
    pub(crate) mod no_expiry;
    pub(crate) mod no_lock;
    pub(crate) mod phantom_extend;
    pub(crate) mod redlock_no_quorum;
    pub(crate) mod release_without_token;
    pub(crate) mod twice_as_slow;
    pub(crate) mod watchdog_outlives_unlock;
    pub(crate) mod watchdog_silent;
}

pub use context::{Context, WallClock};
pub use contract::{DynLock, Grant, Lock, LockError, LockFuture, Notice};
pub use node::{Node, SharedConnection};
pub use options::{OptionError, OptionKind, OptionSpec, OptionValue, Options};
pub use span::{NoSpan, Span};

/// A built-in strategy: what a user can name after `--impl`.
pub struct Strategy {
    /// The name on the command line.
    pub name: &'static str,
    /// One line: what it does.
    pub summary: &'static str,
    /// How many independent Redis nodes it wants.
    pub nodes: usize,
    /// How many replicas of each node it cannot do without.
    pub replicas: usize,
    /// What its user can choose.
    pub options: &'static [&'static OptionSpec],
    /// Makes one client of the lock.
    pub build: fn(Vec<Node>, Context) -> Box<dyn DynLock>,
}

impl Strategy {
    /// Understands what the user chose.
    ///
    /// # Errors
    /// An option that the strategy does not declare, or a value that is not of its kind.
    pub fn read_options<'a>(
        &self,
        given: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Options, OptionError> {
        Options::read(self.options, given)
    }
}

/// The built-in strategies, the simplest first.
pub const STRATEGIES: &[Strategy] = &[
    strategies::setnx_expire::STRATEGY,
    strategies::setnx_lua::STRATEGY,
    strategies::getset::STRATEGY,
    strategies::get_then_del::STRATEGY,
    strategies::set_nx_px::STRATEGY,
    strategies::watchdog::STRATEGY,
    strategies::lock_take::STRATEGY,
    strategies::redlock::STRATEGY,
    strategies::redlock_renewing::STRATEGY,
    strategies::fenced::STRATEGY,
    strategies::replicated::STRATEGY,
];

/// Locks that are broken on purpose, each in one way: what a check must be able to catch.
pub const MUTANTS: &[Strategy] = &[
    mutants::no_lock::STRATEGY,
    mutants::no_expiry::STRATEGY,
    mutants::release_without_token::STRATEGY,
    mutants::expired_is_held::STRATEGY,
    mutants::redlock_no_quorum::STRATEGY,
    mutants::phantom_extend::STRATEGY,
    mutants::watchdog_silent::STRATEGY,
    mutants::watchdog_outlives_unlock::STRATEGY,
    mutants::fence_per_client::STRATEGY,
    mutants::twice_as_slow::STRATEGY,
];

/// The strategy or mutant of that name.
pub fn find(name: &str) -> Option<&'static Strategy> {
    STRATEGIES
        .iter()
        .chain(MUTANTS)
        .find(|strategy| strategy.name == name)
}

//! The built-in locks on Redis.
//!
//! This crate imports no other crate of the workspace, so that a lock cannot detect that it is tested. It uses only the
//! wall clock and the random numbers of its [`Context`], measures time only with its own monotonic stopwatch, and
//! accesses Redis only through redis-rs's `ConnectionLike` and the [`Subscription`]s of a node.
//!
//! - the contract: [`Lock`], [`Grant`], [`LockError`]
//! - the environment of a lock: [`Node`] and [`Context`]
//! - the choices of its user: [`OptionSpec`], and [`Options`] once they are checked
//! - the building blocks of locks: lease, attempts with patience, renewal, stopwatch, one node or a quorum
//! - the building blocks of mutants: `variation`, `varied_*`
//! - [`reference`]: the built-in lock that is the reference for another lock
//! - [`LOCKS`], one file each, and [`MUTANTS`], which are broken on purpose
//!
//! Codes such as S4, L11 or K3 in comments name known classes of lock bugs. S is a safety bug, such as two holders or a
//! released foreign lock; L is a liveness bug, such as a lock that stays taken or a waiter that never wakes.
//! `lab/pages/mutants.md` lists them, and the mutants that show them; look there for the meaning of a code. K numbers
//! the objections of Kleppmann's article "How to do distributed locking" (2016).

mod attempts;
mod canceller;
mod context;
mod contract;
mod lease;
mod lease_duration;
mod node;
mod options;
mod patience;
mod permits;
mod quorum;
pub mod reference;
mod renewal;
mod renewing;
mod single_node;
mod stopwatch;
mod variation;
mod varied_counter;
mod varied_leader;
mod varied_rwlock;
mod varied_semaphore;

/// Declares each file of a folder, one line per file, and lists the locks in them.
macro_rules! locks {
    ($(#[$about:meta])* $list:ident in $folder:ident: $($file:ident,)*) => {
        mod $folder {
            $(pub(crate) mod $file;)*
        }

        $(#[$about])*
        pub const $list: &[BuiltInLock] = &[$($folder::$file::LOCK),*];
    };
}

locks! {
    /// The built-in locks, simplest first.
    LOCKS in locks:
    setnx_expire,
    setnx_lua,
    getset,
    get_then_del,
    set_nx_px,
    watchdog,
    lock_take,
    signal_list,
    pubsub,
    redlock,
    redlock_renewing,
    fenced,
    replicated,
}

locks! {
    /// The built-in semaphores, simplest first. They grant several permits at a time.
    SEMAPHORES in semaphores:
    counter,
    token_list,
    by_client_time,
    by_server_time,
}

locks! {
    /// The built-in read/write locks. They let several readers in at a time, and one writer alone.
    RWLOCKS in rwlocks:
    hash,
    by_server_time,
}

locks! {
    /// The built-in locks of scheduled jobs, simplest first. They have one holder.
    CRON_LOCKS in cron_locks:
    delete_at_end,
    minimum_hold,
}

locks! {
    /// The built-in leader elections. A leader asks before each of its acts whether it still leads.
    LEADERS in leaders:
    by_timer,
    by_epoch,
}

locks! {
    /// Locks that are broken on purpose, each in one way, to prove that checks detect it.
    MUTANTS in mutants:
    no_lock,
    no_expiry,
    release_without_token,
    expired_is_held,
    redlock_no_quorum,
    phantom_extend,
    watchdog_silent,
    waits_for_reply,
    watchdog_outlives_unlock,
    renews_in_doubt,
    fence_per_client,
    twice_as_slow,
    retry_without_token,
    token_per_client,
    whole_seconds,
    seconds_as_millis,
    error_is_grant,
    timeout_is_release,
    stale_hold_count,
    half_quorum,
    needs_every_node,
    truncated_key,
    one_key_for_all,
    releases_every_key,
    validity_underflow,
    validity_by_wall_clock,
    renews_by_set,
    extend_recreates,
    extend_without_token,
    sleeps_until_notified,
    refusal_is_grant,
    impatience_is_grant,
    refused_but_won,
    ttl_is_wait,
    millis_as_seconds,
    validity_from_first_try,
    extension_adds_up,
    short_extension,
    encoded_release,
    denied_release,
    split_key,
    token_by_prefix,
    release_again_late,
    renews_any_value,
    waiter_renews,
    loser_prolongs,
    quorum_of_answers,
    releases_a_quorum,
    subscribes_too_late,
    reads_old_replies,
    cancel_leaves_key,
    cancel_leaves_renewal,
    interrupt_is_grant,
    finally_release,
    waiters_take_the_pool,
    failure_leaves_key,
    renews_for_the_dead,
    reentrant,
    inner_release_frees,
    inner_lease_counts,
    token_per_process,
    termination_frees_any,
    start_frees_any,
    one_renewal,
    local_lock_for_all,
    hashed_name,
    semaphore_release_retried,
    semaphore_remade,
    semaphore_one_too_many,
    semaphore_counts_then_adds,
    semaphore_keeps_expired,
    semaphore_releases_oldest,
    semaphore_counts_one,
    semaphore_returns_one,
    semaphore_keeps_part,
    semaphore_signals_once,
    semaphore_cuts_leases,
    rwlock_reader_ignores_writer,
    rwlock_writer_ignores_readers,
    rwlock_counts_then_adds,
    rwlock_keeps_expired,
    rwlock_releases_all,
    rwlock_writer_releases_any,
    rwlock_starves_writers,
    cron_hold_too_short,
    cron_never_releases,
    cron_not_awaited,
    cron_key_per_host,
    leader_believes,
    leader_rolled_back,
    leader_any_key,
    leader_revives,
    leader_host_name,
    leader_epoch_expires,
    leader_keeps_on,
}

pub use canceller::Canceller;
pub use context::{Context, WallClock};
pub use contract::{DynLock, Grant, Kind, Lock, LockError, LockFuture, Notice, Taken};
pub use lease_duration::{LeaseDuration, NotADuration};
pub use node::{Node, SharedConnection, Subscription};
pub use options::{OptionError, OptionKind, OptionSpec, OptionValue, Options};
pub use stopwatch::Deadline;

/// A built-in lock, which a user can select with `--impl`.
pub struct BuiltInLock {
    /// The name on the command line.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Number of independent Redis nodes that it uses.
    pub nodes: usize,
    /// Number of replicas that each node needs.
    pub replicas: usize,
    /// Its kind, which determines how many clients may hold it at the same time.
    pub kind: Kind,
    /// The options that its user can set.
    pub options: &'static [&'static OptionSpec],
    /// Creates one client of the lock.
    pub build: fn(Vec<Node>, Context) -> Box<dyn DynLock>,
}

impl BuiltInLock {
    /// Creates a lock on one node without replicas, with the options for retries.
    pub(crate) const fn on_one_node(
        name: &'static str,
        summary: &'static str,
        build: fn(Vec<Node>, Context) -> Box<dyn DynLock>,
    ) -> Self {
        BuiltInLock {
            name,
            summary,
            nodes: 1,
            replicas: 0,
            kind: Kind::Mutex,
            options: patience::RETRY,
            build,
        }
    }

    /// Returns `true` if the lock promises to renew its lease in the background. A lock does so if it has an option for
    /// the interval.
    #[must_use]
    pub fn renews(&self) -> bool {
        let interval = renewal::RENEW_EVERY.name;
        self.options.iter().any(|option| option.name == interval)
    }

    /// Returns this lock with another kind.
    pub(crate) const fn of_kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// Parses and checks the user's options.
    ///
    /// # Errors
    /// Returns an error for an option that the lock does not declare, or a value of the wrong kind.
    pub fn read_options<'a>(
        &self,
        given: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Options, OptionError> {
        Options::read(self.options, given)
    }
}

/// Returns the locks of all kinds that are not broken on purpose.
pub fn built_in() -> impl Iterator<Item = &'static BuiltInLock> {
    let holders = LOCKS.iter().chain(SEMAPHORES).chain(RWLOCKS);
    holders.chain(CRON_LOCKS).chain(LEADERS)
}

/// Returns the locks of all kinds, and the mutants.
pub fn all() -> impl Iterator<Item = &'static BuiltInLock> {
    built_in().chain(MUTANTS)
}

/// Returns the lock or mutant with this name.
pub fn find(name: &str) -> Option<&'static BuiltInLock> {
    all().find(|lock| lock.name == name)
}

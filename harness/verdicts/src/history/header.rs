//! The first line of a history: the context that a checker needs in addition to the events.

use std::time::Duration;

use picklock_scenarios::{
    BackendName, LeaseDuration, LockKind, MissedTicks, Property, Schedule, Update,
};
use serde::{Deserialize, Serialize};

/// Format and version of a history file; the `format` key of its first line.
pub const FORMAT: &str = "picklock-history/1";

/// The context that a checker needs in addition to the events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Always [`FORMAT`].
    pub format: String,
    /// The scenario's name.
    pub scenario: String,
    /// The lock's name.
    pub lock: String,
    /// The backend of the run.
    pub backend: BackendName,
    /// Seed of the run.
    pub seed: u64,
    /// Number of workers.
    pub workers: usize,
    /// Number of independent nodes.
    pub nodes: usize,
    /// Number of nodes that the lock needs; a majority if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<usize>,
    /// The names of the locks' keys. Events refer to them by position.
    pub keys: Vec<String>,
    /// The sum of the weights that the lock may grant at the same time: 1 for a lock with one holder, the number of
    /// permits for a semaphore.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub capacity: u32,
    /// The kind of the lock, which states what the weights of its holds mean.
    #[serde(default, skip_serializing_if = "is_mutex")]
    pub kind: LockKind,
    /// Lease time in milliseconds.
    pub ttl_ms: u64,
    /// Units in stock at the start, per key.
    pub stock_start: i64,
    /// How a sale changes the stock.
    pub update: Update,
    /// Minimum number of grants; with fewer, the run is inconclusive.
    pub min_grants: u64,
    /// Bound of the `progress` property in milliseconds.
    pub progress_within_ms: u64,
    /// Maximum number of readers that may be let in before a writer that requested the lock earlier; absent if there is
    /// no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_overtakes: Option<u32>,
    /// The schedule of the job; absent if the clients do not run a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<TickSchedule>,
    /// Whether the lock promises to renew its lease while its client works.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub renews: bool,
    /// The lifetimes of keys that the lock declares.
    #[serde(flatten)]
    pub declares: Declarations,
    /// Whether the history contains every change of the nodes' keys.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub key_history: bool,
    /// Result of the final comparison with the servers' keys; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_history_check: Option<KeyHistoryCheck>,
}

/// The lifetimes of keys that a lock declares. Without such a declaration, a key that lives longer than the lease
/// or the hold is a mistake.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declarations {
    /// The key stays for up to this long after a release, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub min_hold_ms: u64,
    /// The key lives up to this much longer than the lease, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lease_margin_ms: u64,
}

impl Declarations {
    /// Combines two declarations: returns the longer value of each time.
    pub fn or(self, other: Declarations) -> Declarations {
        Declarations {
            min_hold_ms: self.min_hold_ms.max(other.min_hold_ms),
            lease_margin_ms: self.lease_margin_ms.max(other.lease_margin_ms),
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Returns 1: the default capacity, of a lock with one holder, and the default weight of a hold.
pub(super) fn one() -> u32 {
    1
}

pub(super) fn is_one(number: &u32) -> bool {
    *number == 1
}

/// The ticks of a job, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TickSchedule {
    /// Time between two ticks in milliseconds. The first tick is due this long after the beginning of the run.
    pub interval_ms: u64,
    /// Number of ticks.
    pub ticks: u64,
    /// How much later than the first client the last client gets each tick, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub clock_shift_ms: u64,
    /// Whether a client makes up for a tick that no client could run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub catches_up: bool,
}

impl TickSchedule {
    /// Creates the schedule of a scenario, with leases of `ttl`.
    pub fn new(schedule: Schedule, ttl: Duration) -> Self {
        let ms = |span: LeaseDuration| u64::try_from(span.resolve(ttl).as_millis());
        TickSchedule {
            interval_ms: ms(schedule.interval).unwrap_or(u64::MAX),
            ticks: u64::from(schedule.ticks),
            clock_shift_ms: ms(schedule.clock_shift).unwrap_or(u64::MAX),
            catches_up: schedule.missed == MissedTicks::CatchUp,
        }
    }

    /// Returns when `worker`, one of `workers` clients, gets a tick, in nanoseconds since the run began.
    pub fn due_ns(&self, tick: u64, worker: usize, workers: usize) -> u64 {
        let ns = |ms: u64| ms.saturating_mul(1_000_000);
        let others = workers.saturating_sub(1).max(1) as u64;
        let shift_ns = ns(self.clock_shift_ms) / others * worker as u64;
        ns(self.interval_ms)
            .saturating_mul(tick)
            .saturating_add(shift_ns)
    }
}

fn is_mutex(kind: &LockKind) -> bool {
    *kind == LockKind::Mutex
}

impl Header {
    /// Returns `true` if the property is judged in this history.
    pub fn judges(&self, property: Property) -> bool {
        property.is_judged(self.schedule.is_some())
    }

    /// Returns `what`, followed by the name of the key if the run has several.
    pub(crate) fn named(&self, key: u32, what: &str) -> String {
        match self.keys.get(key as usize) {
            Some(name) if self.keys.len() > 1 => format!("{what} `{name}`"),
            _ => what.to_owned(),
        }
    }
}

/// A comparison of the key history with the servers: for each value that has ended, the server must have the current
/// value of the key history, and not the ended one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyHistoryCheck {
    /// Number of values that ended.
    pub ends: u64,
    /// Number of values whose end a server confirmed. Servers that do not answer confirm nothing.
    pub confirmed: u64,
}

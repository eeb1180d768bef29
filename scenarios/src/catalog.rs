//! The catalog: the scenarios that are included in Picklock, embedded from one TOML file each.

use crate::nearest::did_you_mean;
use crate::parse::ScenarioError;
use crate::scenario::Scenario;

/// Embeds the files of the listed scenarios.
macro_rules! catalog {
    ($($name:literal,)*) => {
        /// Name and text of every scenario of the catalog, in the order in which they are listed for users. A new
        /// scenario is one new file and one line here.
        pub const CATALOG: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../catalog/", $name, ".toml")))),*];
    };
}

catalog! {
    "calm",
    "flash-sale-20",
    "flash-sale",
    "crowd",
    "exhausted-pool",
    "exhausted-connections",
    "steady-load",
    "two-keys",
    "lock-names",
    "two-locks",
    "two-locks-renewed",
    "deadlock",
    "gc-pause",
    "blocked-loop",
    "same-seed",
    "slow-section",
    "slow-waiter",
    "cut-off-holder",
    "key-gone",
    "renewal-under-way",
    "stuck-holder",
    "lost-update",
    "late-write",
    "late-commit",
    "unchecked-write",
    "stale-read",
    "extend",
    "late-extend",
    "extend-after-gap",
    "minority-extend",
    "late-grant",
    "late-winner",
    "cancel-waiting",
    "cancel-request",
    "cancel-reply",
    "finally-unlock",
    "failing-section",
    "failing-cleanup",
    "reentrant",
    "stale-delete",
    "lost-release",
    "lost-release-reply",
    "late-release",
    "holder-crash",
    "terminated-holder",
    "terminated-waiter",
    "restart",
    "ended-client",
    "dead-holder-kept",
    "sleeping-waiters",
    "late-subscribe",
    "crash-mid-acquire",
    "lost-reply",
    "late-reply",
    "master-failover",
    "master-failover-synced",
    "node-restart",
    "node-restart-aof",
    "node-restart-everysec",
    "quorum-erosion",
    "quorum-erosion-delayed",
    "clock-jump",
    "clock-jump-quorum",
    "clock-skew",
    "clock-back",
    "fractional-lease",
    "eviction",
    "late-eviction",
    "memory-full",
    "read-only",
    "script-flush",
    "network-delay",
    "sentinel-failover",
    "stale-master",
    "partition-holder",
    "partition-minority",
    "silent-minority",
    "split-vote",
    "node-pause",
    "busy-node",
    "permits",
    "permits-holder-crash",
    "permits-pause",
    "permits-lost-reply",
    "permits-lost-release",
    "permits-lost-release-reply",
    "permits-finally-unlock",
    "permits-node-restart",
    "permits-failover",
    "permits-clock-skew",
    "permits-clock-jump",
    "permits-several",
    "permits-several-lost-release",
    "permits-several-lost-release-reply",
    "permits-wake-up",
    "permits-short-lease",
    "read-write",
    "read-write-writer-starved",
    "read-write-pause",
    "read-write-writer-crash",
    "read-write-reader-crash",
    "read-write-short-lease",
    "read-write-late-unlock",
    "read-write-late-writer",
    "read-write-lost-reply",
    "read-write-network-delay",
    "read-write-node-restart",
    "ticks",
    "ticks-short-job",
    "ticks-pause",
    "ticks-crash",
    "ticks-slow-job",
    "ticks-long-job",
    "ticks-catch-up",
    "ticks-lost-reply",
    "ticks-refused-command",
    "ticks-failover",
    "ticks-eviction",
    "leader",
    "leader-pause",
    "leader-late-act",
    "leader-crash",
    "leader-early-crash",
    "leader-lost-renewal",
    "leader-eviction",
    "leader-failover",
    "leader-node-restart",
    "leader-clock-jump",
}

/// Returns the names of the catalog's scenarios.
pub fn names() -> impl Iterator<Item = &'static str> {
    CATALOG.iter().map(|(name, _)| *name)
}

/// Returns a scenario of the catalog by its name.
///
/// # Errors
/// Returns an error for an unknown name, with the nearest name, or with all names if none is near.
pub fn named(name: &str) -> Result<Scenario, ScenarioError> {
    if let Some((known, text)) = CATALOG.iter().find(|(known, _)| *known == name) {
        return Scenario::parse(text, &format!("catalog/{known}.toml"));
    }
    let wrong = |problem: String, hint| ScenarioError::at(name, "", None, problem, hint);
    if let Some(question) = did_you_mean(name, names()) {
        return Err(wrong(format!("no such scenario; {question}"), None));
    }
    let known = names().collect::<Vec<_>>().join(", ");
    let hint = format!("your own scenario is a path that ends in .toml; the catalog has {known}");
    Err(wrong("no such scenario".to_owned(), Some(hint)))
}

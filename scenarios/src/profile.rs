//! Profiles: selections of the catalog's scenarios for a purpose. This table is the only place that defines them.

use crate::lock_kind::LockKind;

/// A selection of the catalog's scenarios, in the catalog's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Its name for `--profile`.
    pub name: &'static str,
    /// Its purpose.
    pub about: &'static str,
    /// The names of its scenarios, each with the locks that it is meant for.
    pub scenarios: &'static [(&'static str, For)],
}

/// The locks that a profile runs a scenario for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// Every lock with one holder. If the lock lacks a feature that the scenario needs, the cell is not applicable.
    Every,
    /// Locks that renew their lease in the background.
    Renewing,
    /// Locks that do not renew their lease in the background.
    NotRenewing,
    /// Locks on several independent nodes.
    SeveralNodes,
    /// Semaphores.
    Semaphores,
    /// Read/write locks.
    Rwlocks,
    /// Leader elections.
    Leaders,
}

/// The declarations of a lock on which the choice of scenarios depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declaration {
    /// Whether it renews its lease in the background, or `None` if it does not declare this.
    pub renews: Option<bool>,
    /// Number of independent nodes that it uses.
    pub nodes: usize,
    /// Its kind.
    pub kind: LockKind,
}

impl Profile {
    /// Returns the names of all its scenarios.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.scenarios.iter().map(|(name, _)| *name)
    }

    /// Returns `true` if this profile contains the scenario for a lock with this declaration.
    pub fn includes(&self, scenario: &str, lock: Declaration) -> bool {
        let mut fitting = self.scenarios.iter().filter(|(_, meant)| match meant {
            For::Semaphores => lock.kind == LockKind::Semaphore,
            For::Rwlocks => lock.kind == LockKind::Rwlock,
            For::Leaders => lock.kind == LockKind::Leader,
            _ if lock.kind != LockKind::Mutex => false,
            For::Every => true,
            For::Renewing => lock.renews != Some(false),
            For::NotRenewing => lock.renews != Some(true),
            For::SeveralNodes => lock.nodes > 1,
        });
        fitting.any(|(name, _)| *name == scenario)
    }
}

/// All profiles. `docs/matrix.md` explains the selection.
pub const PROFILES: &[Profile] = &[Profile {
    name: "quick",
    about: "the most revealing scenarios for what the lock declares, in about a minute",
    scenarios: &[
        ("calm", For::Every),
        ("exhausted-pool", For::Every),
        ("two-keys", For::Every),
        ("lock-names", For::Every),
        ("two-locks-renewed", For::Renewing),
        ("gc-pause", For::Every),
        ("slow-section", For::Renewing),
        ("cut-off-holder", For::Renewing),
        ("key-gone", For::Renewing),
        ("renewal-under-way", For::Renewing),
        ("late-extend", For::NotRenewing),
        ("extend-after-gap", For::NotRenewing),
        ("late-grant", For::SeveralNodes),
        ("late-winner", For::Every),
        ("cancel-reply", For::Every),
        ("failing-section", For::Every),
        ("reentrant", For::Every),
        ("stale-delete", For::Every),
        ("lost-release", For::Every),
        ("lost-release-reply", For::Every),
        ("late-release", For::Every),
        ("restart", For::Every),
        ("ended-client", For::Every),
        ("sleeping-waiters", For::Every),
        ("late-subscribe", For::Every),
        ("crash-mid-acquire", For::Every),
        ("clock-back", For::Every),
        ("fractional-lease", For::Every),
        ("silent-minority", For::SeveralNodes),
        ("split-vote", For::SeveralNodes),
        ("permits", For::Semaphores),
        ("permits-holder-crash", For::Semaphores),
        ("permits-pause", For::Semaphores),
        ("permits-lost-reply", For::Semaphores),
        ("permits-lost-release", For::Semaphores),
        ("permits-lost-release-reply", For::Semaphores),
        ("permits-finally-unlock", For::Semaphores),
        ("permits-clock-skew", For::Semaphores),
        ("permits-several", For::Semaphores),
        ("permits-wake-up", For::Semaphores),
        ("permits-short-lease", For::Semaphores),
        ("read-write", For::Rwlocks),
        ("read-write-writer-starved", For::Rwlocks),
        ("read-write-pause", For::Rwlocks),
        ("read-write-reader-crash", For::Rwlocks),
        ("read-write-short-lease", For::Rwlocks),
        ("read-write-late-unlock", For::Rwlocks),
        ("read-write-late-writer", For::Rwlocks),
        ("read-write-network-delay", For::Rwlocks),
        ("leader", For::Leaders),
        ("leader-pause", For::Leaders),
        ("leader-crash", For::Leaders),
        ("leader-early-crash", For::Leaders),
        ("leader-eviction", For::Leaders),
    ],
}];

/// All scenarios of the catalog. Each further scenario breaks the most locks that the previous scenarios do not break,
/// as measured with the locks that are broken on purpose (`lab/pages/mutants.md`). A search begins in this order.
pub const MOST_REVEALING: &[&str] = &[
    "late-release",
    "two-keys",
    "stale-delete",
    "lost-release",
    "late-reply",
    "cut-off-holder",
    "extend-after-gap",
    "late-winner",
    "cancel-reply",
    "lost-release-reply",
    "late-extend",
    "late-eviction",
    "exhausted-pool",
    "sleeping-waiters",
    "clock-back",
    "fractional-lease",
    "key-gone",
    "slow-waiter",
    "renewal-under-way",
    "failing-section",
    "failing-cleanup",
    "ended-client",
    "minority-extend",
    "late-grant",
    "split-vote",
    "silent-minority",
    "reentrant",
    "late-subscribe",
    "lock-names",
    "two-locks-renewed",
    "terminated-waiter",
    "two-locks",
    "deadlock",
    "restart",
    "partition-holder",
    "gc-pause",
    "blocked-loop",
    "lost-reply",
    "master-failover-synced",
    "node-restart-aof",
    "busy-node",
    "slow-section",
    "lost-update",
    "holder-crash",
    "terminated-holder",
    "crash-mid-acquire",
    "extend",
    "cancel-waiting",
    "finally-unlock",
    "clock-jump",
    "eviction",
    "read-only",
    "exhausted-connections",
    "network-delay",
    "memory-full",
    "node-pause",
    "calm",
    "late-write",
    "late-commit",
    "unchecked-write",
    "stale-read",
    "node-restart",
    "node-restart-everysec",
    "clock-skew",
    "script-flush",
    "same-seed",
    "master-failover",
    "cancel-request",
    "quorum-erosion",
    "quorum-erosion-delayed",
    "clock-jump-quorum",
    "sentinel-failover",
    "stale-master",
    "partition-minority",
    "dead-holder-kept",
    "flash-sale",
    "steady-load",
    "stuck-holder",
    "flash-sale-20",
    "crowd",
    "permits-finally-unlock",
    "permits-holder-crash",
    "permits-lost-release-reply",
    "permits-pause",
    "permits-clock-skew",
    "permits-lost-reply",
    "permits-lost-release",
    "permits-node-restart",
    "permits-failover",
    "permits-clock-jump",
    "permits-wake-up",
    "permits-short-lease",
    "permits-several-lost-release-reply",
    "permits-several-lost-release",
    "permits-several",
    "permits",
    "read-write",
    "read-write-reader-crash",
    "read-write-writer-starved",
    "read-write-late-unlock",
    "read-write-late-writer",
    "read-write-short-lease",
    "read-write-network-delay",
    "read-write-pause",
    "read-write-writer-crash",
    "read-write-lost-reply",
    "read-write-node-restart",
    "ticks-short-job",
    "ticks-pause",
    "ticks",
    "ticks-long-job",
    "ticks-refused-command",
    "ticks-crash",
    "ticks-eviction",
    "ticks-failover",
    "ticks-slow-job",
    "ticks-lost-reply",
    "ticks-catch-up",
    "leader-eviction",
    "leader",
    "leader-crash",
    "leader-early-crash",
    "leader-pause",
    "leader-late-act",
    "leader-node-restart",
    "leader-failover",
    "leader-clock-jump",
    "leader-lost-renewal",
];

/// Returns the profile with this name.
pub fn named(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;

    #[test]
    fn profile_lists_catalog_scenarios_in_catalog_order() {
        for profile in PROFILES {
            let place = |name: &str| catalog::names().position(|known| known == name);
            let places: Vec<Option<usize>> = profile.names().map(place).collect();
            assert!(
                places.iter().all(Option::is_some),
                "{}: {places:?}",
                profile.name
            );
            assert!(places.is_sorted(), "{}: {places:?}", profile.name);
        }
    }

    #[test]
    fn most_revealing_lists_every_scenario_once() {
        let mut listed = MOST_REVEALING.to_vec();
        listed.sort_unstable();
        let mut all: Vec<&str> = catalog::names().collect();
        all.sort_unstable();
        assert_eq!(listed, all);
    }

    #[test]
    fn quick_profile_depends_on_the_declaration() {
        let quick = named("quick").unwrap();
        let chosen = |renews, nodes| -> Vec<&str> {
            let lock = Declaration {
                renews,
                nodes,
                kind: LockKind::Mutex,
            };
            let names = quick.names();
            names.filter(|name| quick.includes(name, lock)).collect()
        };
        let (plain, renewing) = (chosen(Some(false), 1), chosen(Some(true), 1));
        // At least one scenario for locks that promise renewal has a section longer than a lease.
        assert!(renewing.contains(&"slow-section") && !plain.contains(&"slow-section"));
        assert!(plain.contains(&"extend-after-gap") && !renewing.contains(&"extend-after-gap"));
        assert!(!plain.contains(&"split-vote") && chosen(Some(false), 5).contains(&"split-vote"));
        let of_mutexes = quick.names().filter(|name| {
            let scenario = catalog::named(name).unwrap();
            scenario.workload.kind.lock_kind() == LockKind::Mutex
        });
        assert_eq!(chosen(None, 5).len(), of_mutexes.count());
    }
}

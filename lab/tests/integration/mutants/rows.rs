//! Maps each mutant to the scenario that catches it, and to the property and cause.

/// How precisely the checkers identify the bug of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// The checkers name the property and the cause.
    All,
    /// The checkers name the property, but another cause, or `undetermined`.
    PropertyOnly,
    /// The checkers find nothing.
    Nothing,
}

/// The scenario that catches a mutant, with the property and cause. The lock from which the mutant was derived keeps
/// the property in this scenario.
pub(super) struct Row {
    pub(super) mutant: &'static str,
    pub(super) original: &'static str,
    pub(super) scenario: &'static str,
    pub(super) property: &'static str,
    pub(super) cause: &'static str,
    pub(super) told: Told,
}

/// Builds the rows, one for each way in which a mutant is caught.
macro_rules! rows {
    ($($mutant:literal, $original:literal, $scenario:literal, $property:literal, $cause:literal, $told:ident;)*) => {
        &[$(Row {
            mutant: $mutant,
            original: $original,
            scenario: $scenario,
            property: $property,
            cause: $cause,
            told: Told::$told,
        }),*]
    };
}

pub(super) const ROWS: &[Row] = rows! {
    "no-lock", "set-nx-px", "calm", "lease", "unbacked-grant", All;
    "no-expiry", "set-nx-px", "holder-crash", "progress", "no-ttl", All;
    "release-without-token", "set-nx-px", "gc-pause", "ownership", "stolen-release", All;
    "expired-is-held", "redlock", "late-grant", "exclusion", "expired-grant", All;
    "redlock-no-quorum", "redlock", "split-vote", "lease", "unbacked-grant", All;
    "phantom-extend", "watchdog", "late-extend", "lease", "phantom-extend", All;
    "watchdog-silent", "watchdog", "late-grant", "resource", "expired-grant", All;
    "watchdog-outlives-unlock", "watchdog", "lost-release", "progress", "renewed-after-release", All;
    "renews-in-doubt", "watchdog", "lost-reply", "progress", "ambiguous-acquire", All;
    "fence-per-client", "fenced", "calm", "fencing", "undetermined", All;
    "retry-without-token", "set-nx-px", "lost-release-reply", "lease", "stolen-release", All;
    "retry-without-token", "set-nx-px", "lost-release-reply", "ownership", "race", All;
    "token-per-client", "set-nx-px", "late-release", "lease", "shared-token", All;
    "whole-seconds", "set-nx-px", "fractional-lease", "lease", "wrong-expiry", All;
    "whole-seconds", "set-nx-px", "fractional-lease", "claims", "wrong-expiry", All;
    "seconds-as-millis", "set-nx-px", "calm", "lease", "wrong-expiry", All;
    "seconds-as-millis", "set-nx-px", "calm", "claims", "wrong-expiry", All;
    "error-is-grant", "set-nx-px", "memory-full", "lease", "unbacked-grant", All;
    "timeout-is-release", "set-nx-px", "lost-release", "claims", "false-release", All;
    "stale-hold-count", "set-nx-px", "stale-delete", "exclusion", "unbacked-grant", All;
    "half-quorum", "redlock", "split-vote", "lease", "unbacked-grant", All;
    "needs-every-node", "redlock", "silent-minority", "progress", "waits-for-every-node", All;
    "truncated-key", "set-nx-px", "two-keys", "progress", "shared-key", All;
    "truncated-key", "set-nx-px", "two-keys", "claims", "shared-key", All;
    "one-key-for-all", "set-nx-px", "two-keys", "progress", "shared-key", All;
    "one-key-for-all", "set-nx-px", "two-keys", "claims", "shared-key", All;
    "releases-every-key", "set-nx-px", "two-keys", "lease", "stolen-release", All;
    "validity-underflow", "redlock", "late-grant", "lease", "wrong-expiry", All;
    "validity-underflow", "redlock", "late-grant", "claims", "wrong-expiry", All;
    "validity-by-wall-clock", "set-nx-px", "clock-back", "lease", "wrong-expiry", All;
    "validity-by-wall-clock", "set-nx-px", "clock-back", "claims", "wrong-expiry", All;
    "renews-by-set", "watchdog", "late-extend", "lease", "phantom-extend", All;
    "renews-by-set", "watchdog", "late-eviction", "resource", "evicted", All;
    "extend-recreates", "set-nx-px", "extend-after-gap", "resource", "phantom-extend", All;
    "extend-without-token", "set-nx-px", "late-extend", "lease", "foreign-renewal", All;
    "extend-without-token", "set-nx-px", "late-extend", "ownership", "foreign-renewal", All;
    "sleeps-until-notified", "signal-list", "sleeping-waiters", "progress", "lost-wake-up", All;
    "waits-for-reply", "set-nx-px", "lost-reply", "progress", "late-timeout", All;
    "refusal-is-grant", "set-nx-px", "calm", "lease", "unbacked-grant", All;
    "impatience-is-grant", "set-nx-px", "late-winner", "lease", "unbacked-grant", All;
    "refused-but-won", "set-nx-px", "late-winner", "claims", "ambiguous-acquire", All;
    "ttl-is-wait", "set-nx-px", "calm", "claims", "wrong-expiry", All;
    "millis-as-seconds", "set-nx-px", "calm", "claims", "wrong-expiry", All;
    "validity-from-first-try", "set-nx-px", "gc-pause", "claims", "ambiguous-acquire", All;
    "extension-adds-up", "set-nx-px", "extend", "claims", "wrong-expiry", All;
    "short-extension", "set-nx-px", "late-extend", "claims", "wrong-expiry", All;
    "encoded-release", "set-nx-px", "calm", "claims", "false-release", All;
    "denied-release", "set-nx-px", "calm", "claims", "false-release", All;
    "split-key", "set-nx-px", "calm", "lease", "split-key", All;
    "token-by-prefix", "set-nx-px", "gc-pause", "ownership", "stolen-release", All;
    "release-again-late", "set-nx-px", "calm", "lease", "stolen-release", All;
    "renews-any-value", "watchdog", "gc-pause", "ownership", "foreign-renewal", All;
    "renews-any-value", "watchdog", "dead-holder-kept", "progress", "foreign-renewal", All;
    "waiter-renews", "set-nx-px", "holder-crash", "progress", "foreign-renewal", All;
    "loser-prolongs", "set-nx-px", "holder-crash", "progress", "foreign-renewal", All;
    "quorum-of-answers", "redlock", "split-vote", "lease", "unbacked-grant", All;
    "subscribes-too-late", "pubsub", "late-subscribe", "progress", "lost-wake-up", All;
    "reads-old-replies", "set-nx-px", "network-delay", "claims", "stale-reply", All;
    "error-is-grant", "set-nx-px", "read-only", "lease", "unbacked-grant", All;
    "error-is-grant", "set-nx-px", "busy-node", "lease", "unbacked-grant", All;
    "token-per-process", "set-nx-px", "crowd", "exclusion", "unbacked-grant", All;
    "token-per-process", "set-nx-px", "crowd", "ownership", "shared-token", All;
    "finally-release", "set-nx-px", "finally-unlock", "ownership", "stolen-release", All;
    "finally-release", "set-nx-px", "finally-unlock", "lease", "stolen-release", All;
    "cancel-leaves-key", "set-nx-px", "cancel-reply", "claims", "ambiguous-acquire", All;
    "cancel-leaves-renewal", "set-nx-px", "cancel-reply", "claims", "ambiguous-acquire", All;
    "cancel-leaves-renewal", "set-nx-px", "cancel-reply", "progress", "ambiguous-acquire", All;
    "interrupt-is-grant", "set-nx-px", "cancel-waiting", "lease", "unbacked-grant", All;
    "inner-release-frees", "reentrant", "reentrant", "lease", "own-removal", All;
    "inner-lease-counts", "reentrant", "reentrant", "lease", "wrong-expiry", All;
    "renews-for-the-dead", "set-nx-px", "ended-client", "progress", "renewed-after-end", All;
    "termination-frees-any", "set-nx-px", "terminated-waiter", "ownership", "foreign-removal", All;
    "termination-frees-any", "set-nx-px", "terminated-waiter", "lease", "foreign-removal", All;
    "start-frees-any", "set-nx-px", "restart", "ownership", "foreign-removal", All;
    "start-frees-any", "set-nx-px", "restart", "lease", "foreign-removal", All;
    "one-renewal", "watchdog", "two-locks-renewed", "exclusion", "silent-loss", All;
    "one-renewal", "watchdog", "two-locks-renewed", "claims", "silent-loss", All;
    "local-lock-for-all", "set-nx-px", "two-locks", "progress", "stopped-asking", All;
    "hashed-name", "set-nx-px", "lock-names", "claims", "shared-key", All;
    "waiters-take-the-pool", "set-nx-px", "exhausted-pool", "exclusion", "late-extension", All;
    "failure-leaves-key", "set-nx-px", "failing-section", "claims", "false-release", All;
    "semaphore-release-retried", "semaphore-counter", "permits-lost-release-reply", "exclusion", "permit-minted", All;
    "semaphore-remade", "semaphore-list", "permits", "exclusion", "permit-minted", All;
    "semaphore-one-too-many", "semaphore", "permits", "exclusion", "not-exclusive", All;
    "semaphore-counts-then-adds", "semaphore", "permits", "exclusion", "race", All;
    "semaphore-keeps-expired", "semaphore", "permits-holder-crash", "progress", "permit-leaked", All;
    "semaphore-releases-oldest", "semaphore", "permits", "ownership", "stolen-release", All;
    "semaphore-counts-one", "semaphore-counter", "permits-several", "exclusion", "permit-minted", All;
    "semaphore-returns-one", "semaphore-counter", "permits-several", "progress", "permit-leaked", All;
    "semaphore-keeps-part", "semaphore-counter", "permits-several", "progress", "permit-leaked", All;
    "semaphore-signals-once", "semaphore", "permits-wake-up", "progress", "lost-wake-up", All;
    "semaphore-cuts-leases", "semaphore", "permits-short-lease", "exclusion", "wrong-expiry", All;
    "rwlock-reader-ignores-writer", "rwlock", "read-write", "exclusion", "torn-read", All;
    "rwlock-writer-ignores-readers", "rwlock", "read-write", "exclusion", "torn-read", All;
    "rwlock-counts-then-adds", "rwlock", "read-write-network-delay", "exclusion", "race", All;
    "rwlock-keeps-expired", "rwlock", "read-write-reader-crash", "progress", "permit-leaked", All;
    "rwlock-releases-all", "rwlock", "read-write", "ownership", "stolen-release", All;
    "rwlock-writer-releases-any", "rwlock", "read-write-late-writer", "ownership", "race", All;
    "rwlock-starves-writers", "rwlock", "read-write-writer-starved", "progress", "writer-starved", All;
    "cron-hold-too-short", "cron-min-hold", "ticks-short-job", "once", "ran-twice", All;
    "cron-never-releases", "set-nx-px", "ticks-long-job", "once", "skipped-tick", All;
    "cron-not-awaited", "set-nx-px", "ticks", "once", "own-removal", All;
    "cron-key-per-host", "set-nx-px", "ticks", "once", "split-key", All;
    "no-lock", "set-nx-px", "ticks", "once", "unbacked-grant", All;
    "release-without-token", "set-nx-px", "ticks-pause", "once", "stolen-release", All;
    "error-is-grant", "set-nx-px", "ticks-refused-command", "once", "unbacked-grant", All;
    "no-expiry", "set-nx-px", "ticks-crash", "once", "no-ttl", All;
    "leader-believes", "leader", "leader-eviction", "exclusion", "phantom-leader", All;
    "leader-rolled-back", "leader", "leader-eviction", "exclusion", "phantom-leader", All;
    "leader-any-key", "leader", "leader-eviction", "exclusion", "phantom-leader", All;
    "leader-revives", "leader", "leader-eviction", "ownership", "phantom-extend", All;
    "leader-host-name", "leader", "leader", "exclusion", "unbacked-grant", All;
    "leader-host-name", "leader", "leader", "ownership", "shared-token", All;
    "leader-epoch-expires", "leader", "leader", "fencing", "undetermined", All;
    "leader-keeps-on", "leader", "leader", "progress", "renewed-after-release", All;
};

/// Mutants that pass the gate of `init`: their bug affects no property, or none in the gate's scenarios.
pub(super) const SAFE: &[(&str, &str)] = &[
    ("twice-as-slow", BY_LATENCY),
    // A release of this mutant leaves values on a minority of its nodes. The lock is free, and no client has to wait
    // for these values.
    ("releases-a-quorum", BY_LATENCY),
    (
        "reentrant",
        "no property: it is sound, and what the re-entrant mutants were made from",
    ),
    (
        "cron-hold-too-short",
        "it is sound as a mutex: only the scenarios of scheduled jobs show it, and a mutex does not declare such jobs",
    ),
    (
        "waits-for-reply",
        "the gate of a mutex loses no reply to an acquisition, unlike that of a semaphore (`permits-lost-reply`)",
    ),
];

const BY_LATENCY: &str =
    "no property: a limit on the latency of `acquire` catches it (`picklock gate`)";

//! The classes of bugs that real libraries had, and the mutants and locks that show each of them.
//!
//! The numbers come from the project's notes on public bug trackers. The documentation of the mutants cites reports
//! for each class.

/// A class of bugs.
pub struct Class {
    pub id: &'static str,
    pub about: &'static str,
    /// Mutants that have the bug.
    pub mutants: &'static [&'static str],
    /// Built-in locks that have it by design, each with a scenario that shows it.
    pub locks: &'static [(&'static str, &'static str)],
}

macro_rules! classes {
    ($($id:literal, $about:literal, [$($mutant:literal),*], [$($lock:literal x $scenario:literal),*];)*) => {
        &[$(Class {
            id: $id,
            about: $about,
            mutants: &[$($mutant),*],
            locks: &[$(($lock, $scenario)),*],
        }),*]
    };
}

pub const CLASSES: &[Class] = classes! {
    "S1", "two holders because a lease ran out", [], ["set-nx-px" x "gc-pause"];
    "S2", "a renewal is lost, and nobody is told", ["watchdog-silent", "one-renewal"], [];
    "S3", "an extension makes an expired key anew",
        ["phantom-extend", "renews-by-set", "extend-recreates", "leader-revives"], [];
    "S4", "a release or an extension by somebody who is not the owner",
        ["termination-frees-any", "start-frees-any", "release-without-token", "retry-without-token", "extend-without-token", "releases-every-key",
         "token-by-prefix", "release-again-late", "renews-any-value", "semaphore-releases-oldest", "rwlock-writer-releases-any"],
        ["setnx-expire" x "gc-pause"];
    "S5", "a grant that had run out when it came", ["expired-is-held"], ["set-nx-px" x "late-grant"];
    "S6", "wrong arithmetic of durations",
        ["whole-seconds", "seconds-as-millis", "millis-as-seconds", "ttl-is-wait",
         "validity-underflow", "validity-from-first-try", "extension-adds-up", "short-extension",
         "inner-lease-counts"], [];
    "S7", "a failover before the lock was replicated", [], ["set-nx-px" x "master-failover"];
    "S8", "nodes that forget, or do not count", ["redlock-no-quorum", "quorum-of-answers"],
        ["set-nx-px" x "node-restart", "redlock" x "quorum-erosion"];
    "S9", "a wall clock is believed", ["validity-by-wall-clock"],
        ["set-nx-px" x "clock-jump", "getset" x "clock-skew"];
    "S10", "the key is evicted or flushed", [], ["set-nx-px" x "eviction"];
    "S11", "an acquisition is sent again and counted twice", ["renews-in-doubt", "stale-hold-count"],
        ["pubsub" x "lost-reply"];
    "S12", "one identity for several acquisitions or locks",
        ["token-per-client", "token-per-process", "inner-release-frees", "truncated-key", "one-key-for-all", "hashed-name",
         "leader-host-name"], [];
    "S13", "fencing tokens that do not increase", ["fence-per-client", "leader-epoch-expires"], [];
    "S14", "a transaction that falls back to a plain DEL", [], ["get-then-del" x "stale-delete"];
    "S15", "the work is done although nothing was taken", ["no-lock", "error-is-grant"], [];
    "S16", "the reply to an earlier command is read", ["reads-old-replies"], [];
    "S17", "one lock under several keys", ["split-key", "cron-key-per-host"], [];
    "S18", "a refusal is taken for a grant", ["refusal-is-grant", "impatience-is-grant", "interrupt-is-grant"], [];
    "S19", "a release without having acquired", ["finally-release"], [];
    "S21", "effects outside the lock", ["cron-not-awaited"], [];
    "S22", "exclusion where once was meant", ["cron-hold-too-short"], ["cron-del" x "ticks-short-job"];
    "S23", "a permit is minted", ["semaphore-release-retried", "semaphore-remade", "semaphore-counts-one"],
        ["semaphore-counter" x "permits-finally-unlock"];
    "S24", "more permits are granted than there are",
        ["semaphore-one-too-many", "semaphore-counts-then-adds", "semaphore-cuts-leases"], [];
    "S25", "a reader and a writer are in together", ["rwlock-reader-ignores-writer", "rwlock-writer-ignores-readers",
        "rwlock-counts-then-adds", "rwlock-releases-all"],
        ["rwlock-hash" x "read-write-late-unlock", "rwlock-hash" x "read-write-short-lease"];
    "S26", "a leader acts without a key", ["leader-believes", "leader-rolled-back", "leader-any-key"],
        ["leader-timer" x "leader-eviction", "leader-timer" x "leader-pause"];
    "L1", "a key without expiry", ["no-expiry"],
        ["setnx-expire" x "crash-mid-acquire", "leader-timer" x "leader-early-crash"];
    "L2", "renewals that outlive the release", ["watchdog-outlives-unlock", "cancel-leaves-renewal", "renews-for-the-dead",
        "leader-keeps-on"], [];
    "L3", "the token is forgotten before the release has succeeded", [], [];
    "L4", "a release that failed is not tried again", ["timeout-is-release", "failure-leaves-key", "cron-never-releases"], [];
    "L5", "part of an acquisition is kept", [], [];
    "L6", "one node of several that is dead stops everything", ["needs-every-node"], [];
    "L7", "an extension that failed frees the lock", [], [];
    "L8", "a waiter is never woken", ["sleeps-until-notified", "subscribes-too-late", "semaphore-signals-once"], [];
    "L9", "a fair queue drifts or stands still", [], [];
    "L10", "an even number of nodes, or no timeout for one", ["half-quorum", "waits-for-reply"], [];
    "L11", "a script that the server has forgotten", [], [];
    "L12", "those who wait keep the key alive", ["waiter-renews", "loser-prolongs"], [];
    "L13", "a late command lands after the clean-up", [], [];
    "L14", "a release on some nodes only", ["releases-a-quorum"], [];
    "L15", "a refused acquisition that has won", ["refused-but-won", "validity-from-first-try", "cancel-leaves-key"], [];
    "L16", "a value or a name is encoded differently", ["encoded-release"], [];
    "L17", "waiters use up a pool", ["waiters-take-the-pool"], [];
    "L18", "busy waiting", [], [];
    "L19", "a client waits for itself", ["local-lock-for-all"], [];
    "L20", "a permit is never given back", ["semaphore-keeps-expired", "semaphore-returns-one", "semaphore-keeps-part", "rwlock-keeps-expired"], ["rwlock-hash" x "read-write-reader-crash", "semaphore-counter" x "permits-holder-crash"];
    "L21", "a writer starves", ["rwlock-starves-writers"], ["rwlock-hash" x "read-write-writer-starved"];
};

/// Mutants whose bug does not belong to any class.
pub const UNCLASSED: &[&str] = &["twice-as-slow", "reentrant", "denied-release"];

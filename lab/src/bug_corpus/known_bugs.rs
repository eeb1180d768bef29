//! The known bugs of the corpus: for each class of bugs, a lock that has it, and the cause that the checkers must
//! name.

use picklock_verdicts::check::{Cause, Property};

use Cause as C;
use Property as P;

/// A lock with a bug of a known class.
#[derive(Debug, Clone, Copy)]
pub struct KnownBug {
    /// The class, as numbered in the project's notes on public bug trackers.
    pub class: &'static str,
    /// A mutant, or a built-in lock that has the bug by design.
    pub lock: &'static str,
    /// The property that must be violated.
    pub property: Property,
    /// The cause that must be named.
    pub cause: Cause,
    /// Number of replicas per node.
    pub replicas: usize,
    /// Name of the sweep's workload.
    pub workload: &'static str,
}

const fn known_bug(
    class: &'static str,
    lock: &'static str,
    property: Property,
    cause: Cause,
) -> KnownBug {
    KnownBug {
        class,
        lock,
        property,
        cause,
        replicas: 0,
        workload: "short",
    }
}

const fn held(known_bug: KnownBug) -> KnownBug {
    KnownBug {
        workload: "held",
        ..known_bug
    }
}

const fn extended(known_bug: KnownBug) -> KnownBug {
    KnownBug {
        workload: "extend",
        ..known_bug
    }
}

const fn keys(known_bug: KnownBug) -> KnownBug {
    KnownBug {
        workload: "keys",
        ..known_bug
    }
}

const fn waiting(known_bug: KnownBug) -> KnownBug {
    KnownBug {
        workload: "waiting",
        ..known_bug
    }
}

const fn replicated(known_bug: KnownBug) -> KnownBug {
    KnownBug {
        replicas: 1,
        ..known_bug
    }
}

/// All known bugs, by class.
pub const KNOWN_BUGS: &[KnownBug] = &[
    known_bug("S1", "set-nx-px", P::Resource, C::OutlivedLease),
    held(known_bug(
        "S2",
        "watchdog-silent",
        P::Resource,
        C::ExpiredGrant,
    )),
    held(known_bug(
        "S3",
        "phantom-extend",
        P::Lease,
        C::PhantomExtend,
    )),
    held(known_bug("S3", "renews-by-set", P::Lease, C::PhantomExtend)),
    extended(known_bug(
        "S3",
        "extend-recreates",
        P::Resource,
        C::PhantomExtend,
    )),
    known_bug(
        "S4",
        "release-without-token",
        P::Ownership,
        C::StolenRelease,
    ),
    known_bug("S4", "retry-without-token", P::Lease, C::StolenRelease),
    extended(known_bug(
        "S4",
        "extend-without-token",
        P::Lease,
        C::ForeignRenewal,
    )),
    keys(known_bug(
        "S4",
        "releases-every-key",
        P::Lease,
        C::StolenRelease,
    )),
    known_bug("S4", "token-by-prefix", P::Ownership, C::StolenRelease),
    known_bug("S4", "release-again-late", P::Lease, C::StolenRelease),
    held(known_bug(
        "S4",
        "renews-any-value",
        P::Ownership,
        C::ForeignRenewal,
    )),
    known_bug("S5", "expired-is-held", P::Exclusion, C::ExpiredGrant),
    known_bug("S5", "set-nx-px", P::Resource, C::ExpiredGrant),
    keys(known_bug("S6", "whole-seconds", P::Claims, C::WrongExpiry)),
    known_bug("S6", "seconds-as-millis", P::Claims, C::WrongExpiry),
    known_bug("S6", "millis-as-seconds", P::Claims, C::WrongExpiry),
    known_bug("S6", "ttl-is-wait", P::Claims, C::WrongExpiry),
    known_bug("S6", "validity-underflow", P::Claims, C::WrongExpiry),
    known_bug(
        "S6",
        "validity-from-first-try",
        P::Claims,
        C::AmbiguousAcquire,
    ),
    extended(known_bug(
        "S6",
        "extension-adds-up",
        P::Claims,
        C::WrongExpiry,
    )),
    extended(known_bug(
        "S6",
        "short-extension",
        P::Claims,
        C::WrongExpiry,
    )),
    replicated(known_bug("S7", "set-nx-px", P::Lease, C::LostOnFailover)),
    known_bug("S8", "redlock-no-quorum", P::Lease, C::UnbackedGrant),
    known_bug("S8", "quorum-of-answers", P::Lease, C::UnbackedGrant),
    known_bug("S8", "set-nx-px", P::Lease, C::LostOnRestart),
    known_bug("S8", "redlock", P::Lease, C::QuorumErosion),
    known_bug("S9", "validity-by-wall-clock", P::Claims, C::WrongExpiry),
    known_bug("S9", "set-nx-px", P::Lease, C::ClockJump),
    known_bug("S9", "getset", P::Lease, C::ClockSkew),
    known_bug("S10", "set-nx-px", P::Lease, C::Evicted),
    known_bug("S11", "renews-in-doubt", P::Progress, C::AmbiguousAcquire),
    known_bug("S11", "stale-hold-count", P::Exclusion, C::UnbackedGrant),
    known_bug("S12", "token-per-client", P::Lease, C::SharedToken),
    keys(known_bug("S12", "truncated-key", P::Claims, C::SharedKey)),
    keys(known_bug("S12", "one-key-for-all", P::Claims, C::SharedKey)),
    known_bug("S13", "fence-per-client", P::Fencing, C::Undetermined),
    known_bug("S14", "get-then-del", P::Ownership, C::Race),
    known_bug("S15", "no-lock", P::Lease, C::UnbackedGrant),
    known_bug("S15", "error-is-grant", P::Lease, C::UnbackedGrant),
    known_bug("S16", "reads-old-replies", P::Claims, C::StaleReply),
    known_bug("S17", "split-key", P::Lease, C::SplitKey),
    known_bug("S18", "refusal-is-grant", P::Lease, C::UnbackedGrant),
    keys(known_bug(
        "S18",
        "impatience-is-grant",
        P::Lease,
        C::UnbackedGrant,
    )),
    known_bug("L1", "no-expiry", P::Progress, C::NoTtl),
    known_bug("L1", "setnx-expire", P::Progress, C::NoTtl),
    known_bug(
        "L2",
        "watchdog-outlives-unlock",
        P::Progress,
        C::RenewedAfterRelease,
    ),
    known_bug("L4", "timeout-is-release", P::Claims, C::FalseRelease),
    known_bug("L6", "needs-every-node", P::Progress, C::WaitsForEveryNode),
    known_bug("L8", "sleeps-until-notified", P::Progress, C::LostWakeUp),
    waiting(known_bug(
        "L8",
        "subscribes-too-late",
        P::Progress,
        C::LostWakeUp,
    )),
    known_bug("L10", "half-quorum", P::Lease, C::UnbackedGrant),
    known_bug("L12", "waiter-renews", P::Progress, C::ForeignRenewal),
    known_bug("L12", "loser-prolongs", P::Progress, C::ForeignRenewal),
    held(known_bug("L13", "redlock", P::Claims, C::AmbiguousAcquire)),
    keys(known_bug(
        "L15",
        "refused-but-won",
        P::Claims,
        C::AmbiguousAcquire,
    )),
    known_bug("L16", "encoded-release", P::Claims, C::FalseRelease),
];

/// A class that the corpus does not cover.
#[derive(Debug, Clone, Copy)]
pub struct Absent {
    /// The class.
    pub class: &'static str,
    /// Description of the class.
    pub about: &'static str,
    /// Why the corpus does not cover it.
    pub why: &'static str,
}

const fn absent(class: &'static str, about: &'static str, why: &'static str) -> Absent {
    Absent { class, about, why }
}

/// Every class that the corpus does not cover.
pub const NOT_COVERED: &[Absent] = &[
    absent(
        "L20",
        "a permit is never given back",
        "a bug of semaphores: the catalog finds each mutant, and the searches of this table were not run on semaphores",
    ),
    absent(
        "S23",
        "a permit is minted",
        "a bug of semaphores: the catalog finds each mutant, and the searches of this table were not run on semaphores",
    ),
    absent(
        "S24",
        "more permits are granted than there are",
        "a bug of semaphores: the catalog finds each mutant, and the searches of this table were not run on semaphores",
    ),
    absent(
        "S25",
        "a reader and a writer are in together",
        "a bug of read/write locks: the catalog finds each mutant, and the searches of this table were not run on them",
    ),
    absent(
        "L21",
        "a writer starves",
        "a bug of read/write locks: a hunt does not limit how many readers may overtake a writer",
    ),
    absent(
        "S19",
        "a release without having acquired",
        "its caller releases what it never got; the driver releases only what was granted",
    ),
    absent(
        "S21",
        "effects outside the lock",
        "a bug of the work, not of the lock: a scenario shows it, for every lock alike",
    ),
    absent(
        "S22",
        "exclusion where once was meant",
        "the scenarios with ticks find it; the searches of this table have workloads without a schedule",
    ),
    absent(
        "S26",
        "a leader acts without a key",
        "the scenarios with leaders find it; the searches of this table have workloads without terms",
    ),
    absent(
        "L3",
        "the token is forgotten before the release has succeeded",
        "no mutant yet: it needs a caller that releases again, and the driver asks once",
    ),
    absent(
        "L5",
        "part of an acquisition is kept",
        "it costs others at most a lease, which no property forbids; a limit on latencies catches it",
    ),
    absent(
        "L7",
        "an extension that failed frees the lock",
        "it costs the holder its lock and lets nobody in too early, which no property forbids",
    ),
    absent(
        "L9",
        "a fair queue drifts or stands still",
        "no built-in lock has a queue",
    ),
    absent(
        "L11",
        "a script that the server has forgotten",
        "no mutant yet; the built-in locks send such a script again",
    ),
    absent(
        "L14",
        "a release on some nodes only",
        "it costs others at most a lease; `releases-a-quorum` is caught by a limit on latencies",
    ),
    absent(
        "L17",
        "waiters use up a pool",
        "no built-in lock has a pool",
    ),
    absent(
        "L18",
        "busy waiting",
        "a cost and no violation: the report of a matrix has the commands for each acquisition",
    ),
    absent(
        "L19",
        "a client waits for itself",
        "a client of a workload asks for one lock at a time",
    ),
];

//! The faults that each cause needs.

use picklock_scenarios::FaultKind::{
    self, Answer, ClockJump, ClockSkew, CrashClient, CrashNode, Cut, CutReplication, Delay, Drop,
    Evict, Exhaust, Failover, FalseAnswer, FlushAll, FlushScripts, Hold, LateCommit, LateWrite,
    Partition, PauseClient, PauseNode, PauseTask, SentinelFailover, StaleRead, TerminateClient,
    UncheckedWrite,
};
use picklock_verdicts::check::Cause;

/// The faults that a cause needs.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// The kinds that the cause names: without all of these faults the violation must vanish. Empty if the cause names
    /// the lock or the client.
    pub names: &'static [FaultKind],
    /// The kinds that the violation can depend on, although the cause does not name them.
    pub may_need: &'static [FaultKind],
    /// Why it can depend on them.
    pub because: &'static str,
}

/// Faults that make a client, a command or an answer late, or lose it.
const LATE: &[FaultKind] = &[
    PauseClient,
    PauseTask,
    Delay,
    Hold,
    Drop,
    Cut,
    Partition,
    PauseNode,
];

/// [`LATE`], and faults that make a command fail or a node answer none.
const LATE_OR_FAILING: &[FaultKind] = &[
    PauseClient,
    PauseTask,
    Delay,
    Hold,
    Drop,
    Cut,
    Partition,
    PauseNode,
    Answer,
    FalseAnswer,
    Exhaust,
    FlushScripts,
    CrashNode,
    Failover,
    SentinelFailover,
];

/// [`LATE`], and faults that end a value before its time or let another client take over.
const LATE_OR_LOSING: &[FaultKind] = &[
    PauseClient,
    PauseTask,
    Delay,
    Hold,
    Drop,
    Cut,
    Partition,
    PauseNode,
    Evict,
    FlushAll,
    CrashNode,
    CutReplication,
    Failover,
    SentinelFailover,
    ClockJump,
    ClockSkew,
];

/// [`LATE_OR_LOSING`], and faults that kill or terminate a client. The client may remove a foreign value in its
/// shutdown hook, or when it is restarted.
const LATE_LOSING_OR_DEAD: &[FaultKind] = &[
    PauseClient,
    PauseTask,
    CrashClient,
    TerminateClient,
    Delay,
    Hold,
    Drop,
    Cut,
    Partition,
    PauseNode,
    Evict,
    FlushAll,
    CrashNode,
    CutReplication,
    Failover,
    SentinelFailover,
    ClockJump,
    ClockSkew,
];

/// Faults that keep a client from the end of what it has begun, or kill it.
const FAILING_OR_DEAD: &[FaultKind] = &[
    PauseClient,
    PauseTask,
    CrashClient,
    TerminateClient,
    Delay,
    Hold,
    Drop,
    Cut,
    Partition,
    PauseNode,
    Answer,
    FalseAnswer,
    Exhaust,
    FlushScripts,
    CrashNode,
    Failover,
    SentinelFailover,
];

/// All kinds that affect clients, links or nodes, but not those of the stock.
const ALL_OF_LOCKS: &[FaultKind] = &[
    PauseClient,
    PauseTask,
    CrashClient,
    TerminateClient,
    Delay,
    Drop,
    Hold,
    Answer,
    FalseAnswer,
    Cut,
    Partition,
    PauseNode,
    CrashNode,
    CutReplication,
    Failover,
    SentinelFailover,
    Evict,
    FlushAll,
    FlushScripts,
    Exhaust,
    ClockJump,
    ClockSkew,
];

/// [`LATE_OR_FAILING`] and [`LATE_OR_LOSING`].
const LATE_FAILING_OR_LOSING: &[FaultKind] = &[
    PauseClient,
    PauseTask,
    Delay,
    Hold,
    Drop,
    Cut,
    Partition,
    PauseNode,
    Answer,
    FalseAnswer,
    Exhaust,
    FlushScripts,
    CrashNode,
    Failover,
    SentinelFailover,
    Evict,
    FlushAll,
    CutReplication,
    ClockJump,
];

/// All kinds, for violations that have no cause.
const ANY: &[FaultKind] = &[
    PauseClient,
    PauseTask,
    CrashClient,
    TerminateClient,
    Delay,
    Drop,
    Hold,
    Answer,
    FalseAnswer,
    Cut,
    Partition,
    PauseNode,
    CrashNode,
    CutReplication,
    Failover,
    SentinelFailover,
    Evict,
    FlushAll,
    FlushScripts,
    Exhaust,
    ClockJump,
    ClockSkew,
    LateWrite,
    LateCommit,
    UncheckedWrite,
    StaleRead,
];

const fn names(names: &'static [FaultKind]) -> Needs {
    Needs {
        names,
        may_need: &[],
        because: "",
    }
}

const fn lock(may_need: &'static [FaultKind], because: &'static str) -> Needs {
    Needs {
        names: &[],
        may_need,
        because,
    }
}

const ACTS_WITHOUT_VALUE: Needs = lock(
    LATE_OR_LOSING,
    "the client must act when its own value is gone",
);

const REMOVES_ANOTHERS_VALUE: Needs = lock(
    LATE_LOSING_OR_DEAD,
    "the client must act when its own value is gone, or as it starts or ends",
);

const OUTLIVES: Needs = lock(
    LATE_FAILING_OR_LOSING,
    "the client, or its renewals, must not end in time, and a key that outlives the lease must go",
);

const KEEPS_ANOTHERS_VALUE: Needs = lock(
    ALL_OF_LOCKS,
    "the client must act when its own value is gone, or the owner must be dead",
);

const IN_DOUBT: Needs = lock(
    FAILING_OR_DEAD,
    "the answer to the taking command must get lost, or the wait must use up the validity",
);

const LEAVES_KEY: Needs = lock(
    FAILING_OR_DEAD,
    "something must come between the taking command and the one that sets the expiry",
);

const WRITES_NOTHING: Needs = lock(
    LATE_FAILING_OR_LOSING,
    "the lock must fail to write its value, or act when it is gone",
);

const COUNTS_WRONGLY: Needs = lock(
    ALL_OF_LOCKS,
    "it only matters if the lease is long in use, the key is left, the value goes, or a clock is wrong",
);

const RELEASE_FAILS: Needs = lock(
    LATE_FAILING_OR_LOSING,
    "the release must fail, or find the value gone",
);

const RENEWAL_FAILS: Needs = lock(
    LATE_FAILING_OR_LOSING,
    "a renewal must fail, or find the value gone",
);

const LATE_GRANT: Needs = lock(LATE_OR_FAILING, "they delay the grant");

const LATE_REPLY: Needs = lock(
    LATE_OR_LOSING,
    "the reply must come after its client has given up, and must be a grant",
);

const LATE_EXTENSION: Needs = lock(
    LATE_OR_FAILING,
    "the extension must be kept from the servers",
);

const EXTENSION_FAILS: Needs = lock(
    LATE_OR_FAILING,
    "a lock may refuse only after an extension has failed",
);

const LATE_ACT: Needs = lock(LATE, "something must come between check and act");

const LONG_WAIT: Needs = lock(LATE, "the wait must be longer than it would be");

const NO_SIGNAL: Needs = lock(
    ALL_OF_LOCKS,
    "the signal must get lost, or no release must send it: its client is dead, or its value is gone",
);

const NO_NODES: Needs = lock(LATE_OR_FAILING, "nodes must be out of reach");

const UNEXPECTED_ERROR: Needs = lock(
    LATE_FAILING_OR_LOSING,
    "it follows from an error or a delay that the lock does not expect",
);

const OLD_REPLICA: Needs = Needs {
    may_need: &[CutReplication],
    because: "without it the replica has the value",
    ..names(&[Failover, SentinelFailover])
};

/// Returns the row of a cause. A new cause needs a row.
pub fn needs(cause: Cause) -> Needs {
    match cause {
        Cause::OutlivedLease => OUTLIVES,
        Cause::ExpiredGrant => LATE_GRANT,
        Cause::LostOnFailover => OLD_REPLICA,
        Cause::LostOnRestart | Cause::QuorumErosion => names(&[CrashNode]),
        Cause::ClockJump => names(&[ClockJump]),
        Cause::ClockSkew => names(&[ClockSkew]),
        Cause::Evicted => names(&[Evict, FlushAll]),
        Cause::StolenRelease | Cause::ForeignRemoval => REMOVES_ANOTHERS_VALUE,
        Cause::PhantomExtend | Cause::SharedToken | Cause::OwnRemoval | Cause::TornRead => {
            ACTS_WITHOUT_VALUE
        }
        Cause::ForeignRenewal => KEEPS_ANOTHERS_VALUE,
        Cause::AmbiguousAcquire => IN_DOUBT,
        Cause::StaleReply => LATE_REPLY,
        Cause::NoTtl | Cause::PermitLeaked | Cause::SkippedTick => LEAVES_KEY,
        Cause::PermitMinted => UNEXPECTED_ERROR,
        Cause::Race => LATE_ACT,
        Cause::UnbackedGrant => WRITES_NOTHING,
        Cause::WrongExpiry => COUNTS_WRONGLY,
        Cause::FalseRelease | Cause::SilentRelease => RELEASE_FAILS,
        Cause::RenewedAfterRelease | Cause::RenewedAfterEnd => RELEASE_FAILS,
        Cause::SharedKey
        | Cause::SplitKey
        | Cause::NotExclusive
        | Cause::WriterStarved
        | Cause::RanTwice => lock(&[], ""),
        Cause::LateLossReport | Cause::SilentLoss | Cause::FalseLoss => RENEWAL_FAILS,
        Cause::LateExtension => LATE_EXTENSION,
        Cause::RefusedExtension => EXTENSION_FAILS,
        Cause::WrongElapsed => LONG_WAIT,
        Cause::LostWakeUp => NO_SIGNAL,
        Cause::SplitVote | Cause::WaitsForEveryNode => NO_NODES,
        Cause::Deadlock => lock(&[], ""),
        Cause::ClientDied | Cause::StoppedAsking | Cause::TakenAndReturned => UNEXPECTED_ERROR,
        Cause::PhantomLeader => ACTS_WITHOUT_VALUE,
        Cause::LateWrite => names(&[LateWrite]),
        Cause::ReleasedBeforeCommit => names(&[LateCommit]),
        Cause::UncheckedWrite => names(&[UncheckedWrite]),
        Cause::StaleRead => names(&[StaleRead]),
        Cause::Undetermined => lock(ANY, "it names no cause"),
    }
}

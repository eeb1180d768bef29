//! What each cause needs.

use picklock_scenarios::FaultKind::{
    self, Answer, ClockJump, ClockSkew, CrashClient, CrashNode, Cut, CutReplication, Delay, Drop,
    Evict, Exhaust, Failover, FalseAnswer, FlushAll, FlushScripts, Hold, LateCommit, LateWrite,
    Partition, PauseClient, PauseNode, PauseTask, SentinelFailover, StaleRead, UncheckedWrite,
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

/// Faults that keep a client from the end of what it has begun, or kill it.
const FAILING_OR_DEAD: &[FaultKind] = &[
    PauseClient,
    PauseTask,
    CrashClient,
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

/// Returns the row of a cause. A new cause needs a row.
pub fn needs(cause: Cause) -> Needs {
    match cause {
        Cause::OutlivedLease => lock(
            LATE_FAILING_OR_LOSING,
            "the client, or its renewals, must not end in time, and a key that outlives the lease must go",
        ),
        Cause::ExpiredGrant => lock(LATE_OR_FAILING, "they delay the grant"),
        Cause::LostOnFailover => Needs {
            may_need: &[CutReplication],
            because: "without it the replica has the value",
            ..names(&[Failover, SentinelFailover])
        },
        Cause::LostOnRestart | Cause::QuorumErosion => names(&[CrashNode]),
        Cause::ClockJump => names(&[ClockJump]),
        Cause::ClockSkew => names(&[ClockSkew]),
        Cause::Evicted => names(&[Evict, FlushAll]),
        Cause::StolenRelease
        | Cause::PhantomExtend
        | Cause::SharedToken
        | Cause::OwnRemoval
        | Cause::ForeignRemoval => lock(
            LATE_OR_LOSING,
            "the client must act when its own value is gone",
        ),
        Cause::ForeignRenewal => lock(
            &[
                PauseClient,
                PauseTask,
                CrashClient,
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
            ],
            "the client must act when its own value is gone, or the owner must be dead",
        ),
        Cause::AmbiguousAcquire => lock(
            FAILING_OR_DEAD,
            "the answer to the command that takes the lock must get lost, or the wait for a dead holder must use up the validity",
        ),
        Cause::StaleReply => lock(
            LATE_OR_LOSING,
            "the reply must come after its client has given up, and must be a grant",
        ),
        Cause::NoTtl => lock(
            FAILING_OR_DEAD,
            "something must come between the command that takes the lock and the one that sets its expiry",
        ),
        Cause::Race => lock(LATE, "something must come between check and act"),
        Cause::UnbackedGrant => lock(
            LATE_FAILING_OR_LOSING,
            "the lock must fail to write its value, or act when it is gone",
        ),
        Cause::WrongExpiry => lock(
            ALL_OF_LOCKS,
            "a wrong expiry only matters if the lease is used for long, the key is left, the value goes, or the clock is wrong",
        ),
        Cause::FalseRelease | Cause::SilentRelease => lock(
            LATE_FAILING_OR_LOSING,
            "the release must fail, or find the value gone",
        ),
        Cause::SharedKey | Cause::SplitKey | Cause::NotExclusive => lock(&[], ""),
        Cause::LateLossReport | Cause::SilentLoss | Cause::FalseLoss => lock(
            LATE_FAILING_OR_LOSING,
            "a renewal must fail, or find the value gone",
        ),
        Cause::LateExtension => lock(
            LATE_OR_FAILING,
            "the extension must be kept from the servers",
        ),
        Cause::RefusedExtension => lock(
            LATE_OR_FAILING,
            "a lock may refuse only after an extension has failed",
        ),
        Cause::WrongElapsed => lock(LATE, "the wait must be longer than it would be"),
        Cause::RenewedAfterRelease | Cause::RenewedAfterEnd => lock(
            LATE_FAILING_OR_LOSING,
            "the release must fail, so that the renewals find a value",
        ),
        Cause::LostWakeUp => lock(
            FAILING_OR_DEAD,
            "the signal must get lost, or nobody must send it",
        ),
        Cause::SplitVote | Cause::WaitsForEveryNode => {
            lock(LATE_OR_FAILING, "nodes must be out of reach")
        }
        Cause::ClientDied | Cause::StoppedAsking | Cause::TakenAndReturned => lock(
            LATE_FAILING_OR_LOSING,
            "it follows from an error or a delay that the lock does not expect",
        ),
        Cause::LateWrite => names(&[LateWrite]),
        Cause::ReleasedBeforeCommit => names(&[LateCommit]),
        Cause::UncheckedWrite => names(&[UncheckedWrite]),
        Cause::StaleRead => names(&[StaleRead]),
        Cause::Undetermined => lock(ANY, "it names nobody"),
    }
}

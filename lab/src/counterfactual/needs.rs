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

/// All kinds.
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

const fn names(
    names: &'static [FaultKind],
    may_need: &'static [FaultKind],
    because: &'static str,
) -> Needs {
    Needs {
        names,
        may_need,
        because,
    }
}

const fn lock(may_need: &'static [FaultKind], because: &'static str) -> Needs {
    names(&[], may_need, because)
}

/// Returns the row of a cause.
pub fn needs(cause: Cause) -> Needs {
    match cause {
        Cause::OutlivedLease => lock(ANY, ""),
        Cause::ExpiredGrant => lock(ANY, ""),
        Cause::LostOnFailover => names(
            &[Failover, SentinelFailover],
            &[CutReplication],
            "the replica lags behind only if its link was cut",
        ),
        Cause::LostOnRestart => names(&[CrashNode], &[], ""),
        Cause::QuorumErosion => names(&[CrashNode], &[], ""),
        Cause::ClockJump => names(&[ClockJump], &[], ""),
        Cause::ClockSkew => names(&[ClockSkew], &[], ""),
        Cause::StolenRelease => lock(ANY, ""),
        Cause::PhantomExtend => lock(ANY, ""),
        Cause::AmbiguousAcquire => lock(ANY, ""),
        Cause::Evicted => names(&[Evict, FlushAll, Exhaust], &[], ""),
        Cause::NoTtl => lock(ANY, ""),
        Cause::Race => lock(ANY, ""),
        Cause::UnbackedGrant => lock(ANY, ""),
        Cause::WrongExpiry => lock(ANY, ""),
        Cause::FalseRelease => lock(ANY, ""),
        Cause::SilentRelease => lock(ANY, ""),
        Cause::SharedKey => lock(ANY, ""),
        Cause::SplitKey => lock(ANY, ""),
        Cause::ForeignRenewal => lock(ANY, ""),
        Cause::SharedToken => lock(ANY, ""),
        Cause::StaleReply => lock(ANY, ""),
        Cause::OwnRemoval => lock(ANY, ""),
        Cause::NotExclusive => lock(ANY, ""),
        Cause::LateLossReport => lock(ANY, ""),
        Cause::SilentLoss => lock(ANY, ""),
        Cause::LateExtension => lock(ANY, ""),
        Cause::RefusedExtension => lock(ANY, ""),
        Cause::WrongElapsed => lock(ANY, ""),
        Cause::RenewedAfterRelease => lock(ANY, ""),
        Cause::RenewedAfterEnd => lock(ANY, ""),
        Cause::LostWakeUp => lock(ANY, ""),
        Cause::SplitVote => lock(ANY, ""),
        Cause::WaitsForEveryNode => lock(ANY, ""),
        Cause::ClientDied => lock(ANY, ""),
        Cause::StoppedAsking => lock(ANY, ""),
        Cause::TakenAndReturned => lock(ANY, ""),
        Cause::ForeignRemoval => lock(ANY, ""),
        Cause::FalseLoss => lock(ANY, ""),
        Cause::LateWrite => names(&[LateWrite], &[], ""),
        Cause::ReleasedBeforeCommit => names(&[LateCommit], &[], ""),
        Cause::UncheckedWrite => names(&[UncheckedWrite], &[], ""),
        Cause::StaleRead => names(&[StaleRead], &[], ""),
        Cause::Undetermined => lock(ANY, ""),
    }
}

//! The faults that each cause needs.

use picklock_scenarios::{
    Action, DataAction, FaultKind, FaultPlan, LeaseDuration, LinkAction, NodeAction, Resource,
    ServerError, StockFault, WorkerAction,
};
use picklock_verdicts::check::Cause;

use Effect::{Fails, Kills, Late, Loses};

/// The faults that a cause needs.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// The kinds that the cause names: without all of these faults the violation must vanish. Empty if the cause names
    /// the lock or the client.
    pub names: &'static [FaultKind],
    /// Effects on which the violation can depend, although the cause does not name a fault with such an effect.
    effects: &'static [Effect],
    /// Why the violation can depend on these effects.
    pub because: &'static str,
}

/// The effect of a fault on clients and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Delays or loses a command or an answer, or delays a client.
    Late,
    /// Makes commands fail, or makes a node unresponsive.
    Fails,
    /// Ends a value early, or lets another client take over.
    Loses,
    /// Ends a client, which may be started again.
    Kills,
    /// Prevents a replica from receiving its master's data.
    Unreplicates,
    /// Damages the stock.
    Damages,
}

/// Returns the effects of a kind of fault: those of its actions.
fn effects(kind: FaultKind) -> Vec<Effect> {
    // An effect depends on the kinds of the actions, so the values of the fields do not matter.
    let plan = FaultPlan {
        by: Some(LeaseDuration::ZERO.into()),
        error: Some(ServerError::Loading),
        what: Some(Resource::Memory),
        ..FaultPlan::new(kind)
    };
    let actions = plan.actions().unwrap_or_default();
    let effects = actions.iter().flat_map(|action| effects_of_action(action));
    effects.copied().collect()
}

fn effects_of_action(action: &Action) -> &'static [Effect] {
    match action {
        Action::Worker(WorkerAction::Freeze | WorkerAction::Block(_)) => &[Late],
        Action::Worker(WorkerAction::Kill | WorkerAction::Terminate) => &[Kills],
        Action::Node(NodeAction::Pause) => &[Late],
        Action::Node(
            NodeAction::Crash | NodeAction::FailOver | NodeAction::FailOverBySentinels,
        ) => &[Fails, Loses],
        Action::Node(NodeAction::CutReplication) => &[Loses, Effect::Unreplicates],
        Action::Data(DataAction::Evict(_) | DataAction::FlushAll) => &[Loses],
        Action::Data(DataAction::FlushScripts | DataAction::Exhaust(_)) => &[Fails],
        Action::Link(LinkAction::Answer { .. }) => &[Fails],
        Action::Link(
            LinkAction::Delay { .. }
            | LinkAction::Drop
            | LinkAction::Hold
            | LinkAction::Partition
            | LinkAction::Reset,
        ) => &[Late],
        Action::ShiftClocks(_) => &[Loses],
        // The client waits for the reply to its write, and so releases later.
        Action::Stock(StockFault::LateWrite) => &[Late, Effect::Damages],
        Action::Stock(_) => &[Effect::Damages],
    }
}

impl Needs {
    /// Returns `true` if the violation can depend on this kind of fault, although the cause does not name it.
    pub fn may_need(&self, kind: FaultKind) -> bool {
        let is_other = !self.names.contains(&kind);
        is_other && effects(kind).iter().any(|it| self.effects.contains(it))
    }
}

const fn names(names: &'static [FaultKind]) -> Needs {
    Needs {
        names,
        effects: &[],
        because: "",
    }
}

const fn lock(effects: &'static [Effect], because: &'static str) -> Needs {
    Needs {
        names: &[],
        effects,
        because,
    }
}

const ACTS_WITHOUT_VALUE: Needs = lock(
    &[Late, Loses],
    "the client must act when its own value is gone",
);

const REMOVES_ANOTHERS_VALUE: Needs = lock(
    &[Late, Loses, Kills],
    "the client must act when its own value is gone, or as it starts or ends",
);

const REMOVES_A_LEFT_VALUE: Needs = lock(
    &[Late, Fails, Loses, Kills],
    "the client must act when its own value is gone, or as it starts or ends, and a failed release may leave the value",
);

const DRAWS_A_TOKEN_AGAIN: Needs = lock(
    &[Late, Loses, Kills],
    "the client must act when its own value is gone, or draw its tokens anew as it is started again",
);

const OUTLIVES: Needs = lock(
    &[Late, Fails, Loses],
    "the client, or its renewals, must not end in time, and a key that outlives the lease must go; a wrong clock excuses \
     the silence of a lock that renews",
);

const KEEPS_ANOTHERS_VALUE: Needs = lock(
    &[Late, Fails, Loses, Kills],
    "the client must act when its own value is gone, or the owner must be dead",
);

const IN_DOUBT: Needs = lock(
    &[Late, Fails, Kills],
    "the answer to the taking command must get lost, or the wait must use up the validity",
);

const LEAVES_KEY: Needs = lock(
    &[Late, Fails, Kills],
    "something must come between the taking command and the one that sets the expiry",
);

const WRITES_NOTHING: Needs = lock(
    &[Late, Fails, Loses, Kills],
    "the lock must fail to write its value, also because a dead client's key is in the way, or act when it is gone",
);

const COUNTS_WRONGLY: Needs = lock(
    &[Late, Fails, Loses, Kills],
    "it only matters if the lease is long in use, the key is left, the value goes, or a clock is wrong",
);

const RELEASE_FAILS: Needs = lock(
    &[Late, Fails, Loses, Kills],
    "the release must fail, or find the value gone, or no living client must be there to remove what stays",
);

const RENEWAL_FAILS: Needs = lock(
    &[Late, Fails, Loses],
    "a renewal must fail, or find the value gone",
);

const LATE_GRANT: Needs = lock(
    &[Late, Fails, Loses],
    "they delay the grant, or end a key that outlives the lease",
);

const LATE_REPLY: Needs = lock(
    &[Late, Loses],
    "the reply must come after its client has given up, and must be a grant",
);

const LATE_EXTENSION: Needs = lock(
    &[Late, Fails],
    "the extension must be kept from the servers",
);

const EXTENSION_FAILS: Needs = lock(
    &[Late, Fails],
    "a lock may refuse only after an extension has failed",
);

const LATE_ACT: Needs = lock(&[Late], "something must come between check and act");

const LONG_WAIT: Needs = lock(&[Late], "the wait must be longer than it would be");

const NO_SIGNAL: Needs = lock(
    &[Late, Fails, Loses, Kills],
    "the signal must get lost, or no release must send it: its client is dead, or its value is gone",
);

const NO_REPLY: Needs = lock(&[Late], "the reply must get lost");

const NO_NODES: Needs = lock(&[Late, Fails], "nodes must be out of reach");

const UNEXPECTED_ERROR: Needs = lock(
    &[Late, Fails, Loses],
    "it follows from an error or a delay that the lock does not expect",
);

const CLEANS_UP_WRONGLY: Needs = lock(
    &[Late, Fails, Loses, Kills],
    "it follows from an error, a delay or an end that the lock does not expect",
);

const ENDED_BEFORE: Needs = lock(
    &[Kills],
    "the first run must end before the second one begins; otherwise the cause is that of the overlap",
);

const OLD_REPLICA: Needs = Needs {
    effects: &[Effect::Unreplicates],
    because: "without it the replica has the value",
    ..names(&[FaultKind::Failover, FaultKind::SentinelFailover])
};

/// Returns the row of a cause. A new cause needs a row.
pub fn needs(cause: Cause) -> Needs {
    match cause {
        Cause::OutlivedLease => OUTLIVES,
        Cause::ExpiredGrant => LATE_GRANT,
        Cause::LostOnFailover => OLD_REPLICA,
        Cause::LostOnRestart | Cause::QuorumErosion => names(&[FaultKind::CrashNode]),
        Cause::ClockJump => names(&[FaultKind::ClockJump]),
        Cause::ClockSkew => names(&[FaultKind::ClockSkew]),
        Cause::Evicted => names(&[FaultKind::Evict, FaultKind::FlushAll]),
        Cause::StolenRelease => REMOVES_ANOTHERS_VALUE,
        Cause::ForeignRemoval => REMOVES_A_LEFT_VALUE,
        Cause::SharedToken => DRAWS_A_TOKEN_AGAIN,
        Cause::PhantomExtend | Cause::OwnRemoval | Cause::TornRead => ACTS_WITHOUT_VALUE,
        Cause::ForeignRenewal => KEEPS_ANOTHERS_VALUE,
        Cause::AmbiguousAcquire => IN_DOUBT,
        Cause::StaleReply => LATE_REPLY,
        Cause::NoTtl | Cause::PermitLeaked | Cause::SkippedTick => LEAVES_KEY,
        Cause::PermitMinted => CLEANS_UP_WRONGLY,
        Cause::Race => LATE_ACT,
        Cause::UnbackedGrant => WRITES_NOTHING,
        Cause::WrongExpiry => COUNTS_WRONGLY,
        Cause::FalseRelease | Cause::SilentRelease => RELEASE_FAILS,
        Cause::RenewedAfterRelease | Cause::RenewedAfterEnd => RELEASE_FAILS,
        Cause::RanTwice => ENDED_BEFORE,
        Cause::SharedKey
        | Cause::SplitKey
        | Cause::NotExclusive
        | Cause::WriterStarved
        | Cause::Deadlock => lock(&[], ""),
        Cause::LateLossReport | Cause::SilentLoss | Cause::FalseLoss => RENEWAL_FAILS,
        Cause::LateExtension => LATE_EXTENSION,
        Cause::RefusedExtension => EXTENSION_FAILS,
        Cause::WrongElapsed => LONG_WAIT,
        Cause::LostWakeUp => NO_SIGNAL,
        Cause::LateTimeout => NO_REPLY,
        Cause::SplitVote | Cause::WaitsForEveryNode => NO_NODES,
        Cause::ClientDied | Cause::StoppedAsking | Cause::TakenAndReturned => UNEXPECTED_ERROR,
        Cause::PhantomLeader => ACTS_WITHOUT_VALUE,
        Cause::LateWrite => names(&[FaultKind::LateWrite]),
        Cause::ReleasedBeforeCommit => names(&[FaultKind::LateCommit]),
        Cause::UncheckedWrite => names(&[FaultKind::UncheckedWrite]),
        Cause::StaleRead => names(&[FaultKind::StaleRead]),
        Cause::Undetermined => lock(
            &[Late, Fails, Loses, Kills, Effect::Damages],
            "it names no cause",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_fault_has_effects() {
        for kind in FaultKind::all() {
            assert!(!effects(kind).is_empty(), "{}", kind.as_str());
        }
    }
}

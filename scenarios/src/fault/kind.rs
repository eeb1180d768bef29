//! The kinds of faults.

use serde::{Deserialize, Serialize};

use super::action::{Action, Affects, Capability};
use super::plan::{FaultPlan, Field};
use super::stock_fault::StockFault;
use crate::cause::Cause;
use crate::lease_duration::LeaseDuration;
use crate::problem::Problem;
use crate::topology::Topology;
use crate::workload::Workload;

macro_rules! enum_of_kinds {
    ($($kind:ident: $file:ident,)*) => {
        /// A kind of fault, by the word that scenario files use.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum FaultKind {
            $(#[doc = concat!("The kind in `", stringify!($file), ".rs`.")] $kind,)*
        }

        impl FaultKind {
            const ALL: &[FaultKind] = &[$(FaultKind::$kind),*];

            /// Returns the description of the kind.
            pub(super) fn row(self) -> &'static Kind {
                match self {
                    $(FaultKind::$kind => &super::$file::KIND,)*
                }
            }
        }
    };
}
// The table of kinds, in the order in which errors list them. A new kind is a line here, a file with its `mod` line,
// and a row in `docs/scenarios.md`. The fields of `Kind` state what a kind means for a verdict.
enum_of_kinds! {
    PauseClient: pause_client,
    PauseTask: pause_task,
    CrashClient: crash_client,
    TerminateClient: terminate_client,
    Delay: delay,
    Drop: drop,
    Hold: hold,
    Answer: answer,
    FalseAnswer: false_answer,
    Cut: cut,
    Partition: partition,
    PauseNode: pause_node,
    CrashNode: crash_node,
    CutReplication: cut_replication,
    Failover: failover,
    SentinelFailover: sentinel_failover,
    Evict: evict,
    FlushAll: flush_all,
    FlushScripts: flush_scripts,
    Exhaust: exhaust,
    ClockJump: clock_jump,
    ClockSkew: clock_skew,
    LateWrite: late_write,
    LateCommit: late_commit,
    UncheckedWrite: unchecked_write,
    StaleRead: stale_read,
}

/// The description of one kind of fault.
pub(crate) struct Kind {
    /// The name that scenario files use.
    pub(super) word: &'static str,
    /// Its effect in words, with `{}` for its targets and `{of}` for its detail: `freezes {}`, `exhausts the {of} of
    /// {}`.
    pub(super) does: &'static str,
    /// The type of its targets.
    pub(super) affects: Affects,
    pub(super) required: &'static [Field],
    pub(super) optional: &'static [Field],
    /// Whether it needs nodes with replicas.
    pub(super) replicated: bool,
    /// Checks its fields together with topology and workload, after the required fields were checked.
    pub(super) check: fn(&FaultPlan, &Topology, &Workload) -> Result<(), Problem>,
    /// Returns its actions on all targets, in the order of execution, or `None` if a required field is missing.
    pub(super) actions: fn(&FaultPlan) -> Option<Vec<Action>>,
    /// Returns when it ends.
    pub(super) lasts: fn(&FaultPlan) -> Lasts,
    /// See [`FaultKind::loss_cause`]. Set if it makes nodes lose or expire keys, or a client misjudge the time.
    pub(super) loss_cause: Option<Cause>,
    /// Whether it acts once. All other faults excuse a lock that makes no progress until they are over.
    pub(super) is_instantaneous: bool,
    /// Whether clients stop while it is active.
    pub(super) stops_clients: bool,
    /// Whether it ends clients.
    pub(super) ends_clients: bool,
    /// Whether commands arrive later than they were sent while it is active.
    pub(super) holds_back: bool,
    /// Whether commands arrive despite it, and are only late. Such a fault keeps no node away if its delay is short.
    pub(super) only_delays: bool,
    /// Whether it affects only replicas. Such a fault does not excuse an attempt that begins later.
    pub(super) affects_only_replicas: bool,
    /// Whether servers answer commands with errors although they executed them. An untrue report of a lock that relied
    /// on such an answer does not violate `claims`.
    pub(super) answers_falsely: bool,
    /// Returns its detail, such as `memory`, if its targets alone do not describe it.
    pub(super) detail: fn(&FaultPlan) -> Option<String>,
}

impl Kind {
    /// Creates a kind with these targets, no further fields, and an end after `for`.
    pub(super) const fn new(
        word: &'static str,
        affects: Affects,
        actions: fn(&FaultPlan) -> Option<Vec<Action>>,
    ) -> Kind {
        Kind {
            word,
            does: "affects {}",
            affects,
            required: &[],
            optional: match affects {
                Affects::Workers => &[Field::Workers],
                Affects::Nodes => &[Field::Nodes],
                Affects::Links => &[Field::Workers, Field::Nodes],
            },
            replicated: false,
            check: |_, _, _| Ok(()),
            actions,
            lasts: FaultPlan::given_end,
            loss_cause: None,
            is_instantaneous: false,
            stops_clients: false,
            ends_clients: false,
            holds_back: false,
            only_delays: false,
            affects_only_replicas: false,
            answers_falsely: false,
            detail: |_| None,
        }
    }

    /// Creates a kind of fault of the resource: it affects accesses of workers, and requires an end.
    pub(super) const fn new_stock_fault(
        word: &'static str,
        actions: fn(&FaultPlan) -> Option<Vec<Action>>,
    ) -> Kind {
        Kind {
            required: &[Field::For],
            ..Kind::new(word, Affects::Workers, actions)
        }
    }
}

/// When a fault ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lasts {
    /// As soon as it has been applied; there is nothing to undo.
    AtOnce,
    /// After this time.
    For(LeaseDuration),
    /// After it has affected this number of frames.
    Frames(u32),
    /// Never, not even at the end of the run.
    Forever,
}

impl FaultPlan {
    /// Returns the actions on all targets, in the order of execution, or `None` if a required field is missing (which
    /// a checked scenario rules out).
    pub fn actions(&self) -> Option<Vec<Action>> {
        (self.kind.row().actions)(self)
    }

    /// Returns when the fault ends.
    pub fn lasts(&self) -> Lasts {
        (self.kind.row().lasts)(self)
    }

    /// Returns its effect on the workers' accesses to the stock, or `None` if it has none.
    pub fn stock_fault(&self) -> Option<StockFault> {
        self.actions()?.into_iter().find_map(|action| match action {
            Action::Stock(fault) => Some(fault),
            _ => None,
        })
    }

    /// Returns the capabilities that the backend needs.
    pub fn needs(&self) -> Vec<Capability> {
        let actions = self.actions().unwrap_or_default().into_iter();
        let needs = actions.filter_map(|one| one.needs(self.kind.affects()));
        needs.collect()
    }

    /// Returns the end as given by `for` or `frames`, or `Forever` if neither is given.
    pub(super) fn given_end(&self) -> Lasts {
        match (self.duration, self.frames) {
            (Some(span), _) => Lasts::For(span),
            (None, Some(frames)) => Lasts::Frames(frames),
            (None, None) => Lasts::Forever,
        }
    }
}

impl FaultKind {
    /// Returns all kinds.
    pub fn all() -> impl Iterator<Item = FaultKind> {
        FaultKind::ALL.iter().copied()
    }

    /// Returns the kind with this name in scenario files.
    pub fn named(word: &str) -> Option<FaultKind> {
        FaultKind::all().find(|kind| kind.as_str() == word)
    }

    /// Returns the name that scenario files use.
    pub fn as_str(self) -> &'static str {
        self.row().word
    }

    /// Returns the type of its targets.
    pub fn affects(self) -> Affects {
        self.row().affects
    }

    /// Returns the cause that the fault suggests if the end of a lock's value was not observed, or `None` if the
    /// fault makes no node lose a lock and no clock wrong.
    pub fn loss_cause(self) -> Option<Cause> {
        self.row().loss_cause
    }

    /// Returns `true` if it acts once, so that the rest is up to the lock.
    pub fn is_instantaneous(self) -> bool {
        self.row().is_instantaneous
    }

    /// Returns `true` if clients stop while it is active.
    pub fn stops_clients(self) -> bool {
        self.row().stops_clients
    }

    /// Returns `true` if it ends clients.
    pub fn ends_clients(self) -> bool {
        self.row().ends_clients
    }

    /// Returns `true` if commands arrive later than they were sent while it is active.
    pub fn holds_back(self) -> bool {
        self.row().holds_back
    }

    /// Returns `true` if commands arrive despite it, and are only late.
    pub fn only_delays(self) -> bool {
        self.row().only_delays
    }

    /// Returns `true` if it affects only replicas.
    pub fn affects_only_replicas(self) -> bool {
        self.row().affects_only_replicas
    }

    /// Returns `true` if it gives clients untrue answers.
    pub fn answers_falsely(self) -> bool {
        self.row().answers_falsely
    }

    /// Returns `true` if it needs nodes with replicas.
    pub fn is_replicated(self) -> bool {
        self.row().replicated
    }

    /// Returns `true` if the field is required.
    pub(crate) fn requires(self, field: Field) -> bool {
        self.row().required.contains(&field)
    }

    /// Returns `true` if the field is allowed.
    pub(crate) fn takes(self, field: Field) -> bool {
        self.requires(field) || self.row().optional.contains(&field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_serialized_as_its_name() {
        for kind in FaultKind::all() {
            let written = toml::Value::try_from(kind).unwrap();
            assert_eq!(written.as_str(), Some(kind.as_str()));
        }
    }
}

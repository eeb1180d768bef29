//! What a kind of fault is, and the table of kinds.

use serde::{Deserialize, Serialize};

use super::action::{Action, Affects, Capability};
use super::plan::{FaultPlan, Field};
use super::stock_fault::StockFault;
use crate::cause::Cause;
use crate::lease_duration::LeaseDuration;
use crate::problem::Problem;
use crate::topology::Topology;
use crate::workload::Workload;

/// The table of kinds, in the order in which errors list them. A new kind is a file beside this one
/// and a line here.
///
/// `kinds!(rows)` calls the macro `rows` with the whole table; the module above declares its files
/// from it.
macro_rules! kinds {
    ($rows:ident) => {
        $rows! {
            PauseClient: pause_client,
            PauseTask: pause_task,
            CrashClient: crash_client,
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
    };
}
pub(super) use kinds;

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

            /// What it is.
            pub(super) fn row(self) -> &'static Kind {
                match self {
                    $(FaultKind::$kind => &super::$file::KIND,)*
                }
            }
        }
    };
}
kinds!(enum_of_kinds);

/// One kind of fault.
pub(crate) struct Kind {
    /// The word that scenario files use.
    pub(super) word: &'static str,
    /// What it does, in words, with `{}` for what it strikes and `{of}` for what it is a fault of:
    /// `freezes {}`, `exhausts the {of} of {}`.
    pub(super) does: &'static str,
    /// What it strikes.
    pub(super) affects: Affects,
    /// The fields that it must have.
    pub(super) required: &'static [Field],
    /// The fields that it may have.
    pub(super) optional: &'static [Field],
    /// True when it needs nodes that have replicas.
    pub(super) replicated: bool,
    /// Checks its fields beside servers and workload, when those that it must have are there.
    pub(super) check: fn(&FaultPlan, &Topology, &Workload) -> Result<(), Problem>,
    /// What is done to everything that it strikes, in this order. `None`: a required field is
    /// missing.
    pub(super) actions: fn(&FaultPlan) -> Option<Vec<Action>>,
    /// When it ends.
    pub(super) lasts: fn(&FaultPlan) -> Lasts,
    /// See [`FaultKind::loses`]: it makes nodes forget, or expire, what they were told, or a client
    /// misjudge the time.
    pub(super) loses: Option<Cause>,
    /// True when it strikes once. All others excuse a lock that stands still until they are over.
    pub(super) is_instantaneous: bool,
    /// True when clients stand still while it is on.
    pub(super) stops_clients: bool,
    /// True when a lock that believes its servers believes something untrue. It is not held to what it says then.
    pub(super) lies: bool,
    /// What it is a fault of, in words, if that is not clear from what it strikes: `memory`.
    pub(super) of: fn(&FaultPlan) -> Option<String>,
}

impl Kind {
    /// A kind that strikes workers, nodes or links, has no fields besides these, and ends after
    /// `for`.
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
            lasts: FaultPlan::as_given,
            loses: None,
            is_instantaneous: false,
            stops_clients: false,
            lies: false,
            of: |_| None,
        }
    }

    /// A kind of faults of what the lock protects: it strikes accesses of workers, and ends.
    pub(super) const fn of_stock(
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
    /// As soon as it has struck: there is nothing to undo.
    AtOnce,
    /// After this time.
    For(LeaseDuration),
    /// When it has struck so many frames.
    Frames(u32),
    /// Never: not even when the run ends.
    Forever,
}

impl FaultPlan {
    /// What is done to everything that the fault strikes, in this order. `None`: a required field
    /// is missing; a checked scenario has no such fault.
    pub fn actions(&self) -> Option<Vec<Action>> {
        (self.kind.row().actions)(self)
    }

    /// When it ends.
    pub fn lasts(&self) -> Lasts {
        (self.kind.row().lasts)(self)
    }

    /// What it does to the accesses of workers to the stock; `None`: nothing.
    pub fn stock_fault(&self) -> Option<StockFault> {
        self.actions()?.into_iter().find_map(|action| match action {
            Action::Stock(fault) => Some(fault),
            _ => None,
        })
    }

    /// What the backend must be able to do.
    pub fn needs(&self) -> Vec<Capability> {
        let actions = self.actions().unwrap_or_default().into_iter();
        let needs = actions.filter_map(|one| one.needs(self.kind.affects()));
        needs.collect()
    }

    /// It ends after `for`, or when it has struck `frames`; if neither is given, never.
    pub(super) fn as_given(&self) -> Lasts {
        match (self.duration, self.frames) {
            (Some(span), _) => Lasts::For(span),
            (None, Some(frames)) => Lasts::Frames(frames),
            (None, None) => Lasts::Forever,
        }
    }
}

impl FaultKind {
    /// All kinds.
    pub fn all() -> impl Iterator<Item = FaultKind> {
        FaultKind::ALL.iter().copied()
    }

    /// The kind that scenario files call by this word.
    pub fn named(word: &str) -> Option<FaultKind> {
        FaultKind::all().find(|kind| kind.as_str() == word)
    }

    /// The word that scenario files use.
    pub fn as_str(self) -> &'static str {
        self.row().word
    }

    /// What it strikes.
    pub fn affects(self) -> Affects {
        self.row().affects
    }

    /// The cause that it suggests where nobody saw what became of a lock. `None`: it takes none away.
    pub fn loss_cause(self) -> Option<Cause> {
        self.row().loses
    }

    /// True when it strikes once, and what follows is up to the lock.
    pub fn is_instantaneous(self) -> bool {
        self.row().is_instantaneous
    }

    /// True when clients stand still while it is on.
    pub fn stops_clients(self) -> bool {
        self.row().stops_clients
    }

    /// True when a lock that believes its servers believes something untrue.
    pub fn lies(self) -> bool {
        self.row().lies
    }

    /// True when it needs nodes that have replicas.
    pub(crate) fn is_replicated(self) -> bool {
        self.row().replicated
    }

    /// True when it must have the field.
    pub(crate) fn requires(self, field: Field) -> bool {
        self.row().required.contains(&field)
    }

    /// True when it may have the field.
    pub(crate) fn takes(self, field: Field) -> bool {
        self.requires(field) || self.row().optional.contains(&field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_written_by_its_word() {
        for kind in FaultKind::all() {
            let written = toml::Value::try_from(kind).unwrap();
            assert_eq!(written.as_str(), Some(kind.as_str()));
        }
    }
}

//! The workers and nodes that a fault strikes in a run.

use super::action::Affects;
use super::plan::FaultPlan;
use super::selection::{Selection, Who};

/// The workers and nodes that a fault strikes, by number, or between which it strikes the links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// Workers, from 0.
    pub workers: Vec<usize>,
    /// Nodes, from 0.
    pub nodes: Vec<usize>,
}

impl FaultPlan {
    /// Whom the fault strikes in a run of `workers` workers and `nodes` nodes, if its event
    /// happened at `worker` and at `node` (`None`: at none).
    pub fn target(
        &self,
        worker: Option<usize>,
        node: Option<usize>,
        workers: usize,
        nodes: usize,
    ) -> Target {
        let affects = self.kind.affects();
        let default = Selection::Word(match affects {
            Affects::Links => Who::All,
            Affects::Workers | Affects::Nodes => Who::Same,
        });
        let struck = |given: &Option<Selection>, same, count| {
            let given = given.as_ref();
            given.unwrap_or(&default).numbers(same, count)
        };
        let mut target = Target::default();
        if affects != Affects::Nodes {
            target.workers = struck(&self.workers, worker, workers);
        }
        if affects != Affects::Workers {
            target.nodes = struck(&self.nodes, node, nodes);
        }
        target
    }
}

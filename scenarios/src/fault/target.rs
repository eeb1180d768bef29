//! The workers and nodes that a fault affects in a run.

use super::action::Affects;
use super::plan::FaultPlan;
use super::selection::{Selection, Who};

/// The workers and nodes that a fault affects, or whose links it affects, by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// Worker numbers, from 0.
    pub workers: Vec<usize>,
    /// Node numbers, from 0.
    pub nodes: Vec<usize>,
}

impl FaultPlan {
    /// Returns the targets in a run of `workers` workers and `nodes` nodes. `worker` and `node` are the location of
    /// the fault's event, or `None` if the event has no such location.
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
        let affected = |given: &Option<Selection>, same, count| {
            let selection = given.as_ref().unwrap_or(&default);
            selection.numbers(same, count)
        };
        let mut target = Target::default();
        if affects != Affects::Nodes {
            target.workers = affected(&self.workers, worker, workers);
        }
        if affects != Affects::Workers {
            target.nodes = affected(&self.nodes, node, nodes);
        }
        target
    }
}

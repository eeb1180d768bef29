//! The workers and nodes that a fault strikes in a run.

use super::plan::FaultPlan;
use super::selection::{Nodes, Who, Workers};
use super::strikes::Strikes;

/// The workers and nodes that a fault strikes, by number. For faults of links: the links between
/// them.
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
        let strikes = self.kind.strikes();
        let default = match strikes {
            Strikes::Links => Who::All,
            Strikes::Workers | Strikes::Nodes => Who::Same,
        };
        let mut target = Target::default();
        if strikes != Strikes::Nodes {
            target.workers = match &self.workers {
                Some(Workers::List(list)) => list.clone(),
                Some(Workers::Word(who)) => group(*who, worker, workers),
                None => group(default, worker, workers),
            };
        }
        if strikes != Strikes::Workers {
            target.nodes = match &self.nodes {
                Some(Nodes::List(list)) => list.clone(),
                Some(Nodes::Word(who)) => group(*who, node, nodes),
                None => group(default, node, nodes),
            };
        }
        target
    }
}

fn group(who: Who, same: Option<usize>, count: usize) -> Vec<usize> {
    match who {
        Who::Same => same.into_iter().collect(),
        Who::Others => (0..count).filter(|one| Some(*one) != same).collect(),
        Who::All => (0..count).collect(),
    }
}

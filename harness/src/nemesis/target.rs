//! Whom a fault strikes: from the words of the plan and the place of the moment to numbers.

use picklock_scenarios::{FaultPlan, Nodes, Who, Workers};

use crate::stage::Site;

/// The workers and nodes that a fault strikes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub workers: Vec<usize>,
    pub nodes: Vec<usize>,
}

/// For client and node faults, whose default is the one at which the moment happened.
pub fn of_client_or_node(plan: &FaultPlan, site: Site, workers: usize, nodes: usize) -> Target {
    Target {
        workers: workers_of(plan, Who::Same, site, workers),
        nodes: nodes_of(plan, Who::Same, site, nodes),
    }
}

/// For link faults, whose default is all.
pub fn of_links(plan: &FaultPlan, site: Site, workers: usize, nodes: usize) -> Target {
    Target {
        workers: workers_of(plan, Who::All, site, workers),
        nodes: nodes_of(plan, Who::All, site, nodes),
    }
}

fn workers_of(plan: &FaultPlan, default: Who, site: Site, count: usize) -> Vec<usize> {
    match &plan.workers {
        Some(Workers::List(list)) => list.clone(),
        Some(Workers::Word(who)) => group(*who, site.worker, count),
        None => group(default, site.worker, count),
    }
}

fn nodes_of(plan: &FaultPlan, default: Who, site: Site, count: usize) -> Vec<usize> {
    match &plan.nodes {
        Some(Nodes::List(list)) => list.clone(),
        Some(Nodes::Word(who)) => group(*who, site.node, count),
        None => group(default, site.node, count),
    }
}

fn group(who: Who, same: Option<usize>, count: usize) -> Vec<usize> {
    match who {
        Who::Same => same.into_iter().collect(),
        Who::Others => (0..count).filter(|one| Some(*one) != same).collect(),
        Who::All => (0..count).collect(),
    }
}

//! The simulated world, from the outside.

mod actor;
mod clients;
mod commands;
mod determinism;
mod links;
mod moments;
mod nodes;
mod properties;
mod trials;
mod trouble;
mod verdicts;

use picklock_harness::history::History;
use picklock_harness::sim::{Simulation, Subject, run};
use picklock_harness::stage::Plan;
use picklock_scenarios::{Scenario, Span, catalog};

/// The numbers of a run of a scenario.
pub fn plan(scenario: Scenario, nodes: usize, seed: u64) -> Plan {
    let Span::Absolute(ttl) = scenario.workload.ttl else {
        panic!("the ttl must be absolute");
    };
    let keys = 0..scenario.workload.keys;
    Plan {
        ttl,
        nodes: scenario.topology.nodes.unwrap_or(nodes),
        keys: keys.map(|key| format!("picklock:stock:{key:04}")).collect(),
        seed,
        options: std::collections::BTreeMap::new(),
        scenario,
    }
}

/// Simulates a scenario of the catalog.
pub fn simulate(scenario: &str, subject: &Subject, seed: u64) -> History {
    let scenario = catalog::named(scenario).unwrap();
    let plan = plan(scenario, subject.nodes(), seed);
    let subject = subject.clone();
    run(Simulation { plan, subject }).unwrap()
}

//! Runs of any lock: under any scenario, or under one of the catalog.

use std::collections::BTreeMap;

use picklock_harness::sim::{LockFactory, Simulation};
use picklock_harness::spec::RunSpec;
use picklock_impls::{LOCKS, MUTANTS, find};
use picklock_scenarios::{LeaseDuration, Scenario, arbitrary, catalog};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::monitor_key_history::{Edit, Reading, ToldRun, run_told};

/// One run.
#[derive(Debug, Clone)]
pub struct Cell {
    pub scenario: Scenario,
    pub lock: &'static str,
    pub seed: u64,
    /// After how many operations of a node its report is read.
    pub every: u32,
}

impl Cell {
    /// Runs it, with reports that are changed by `edit` before they are read.
    pub fn run(&self, edit: Option<Edit>) -> ToldRun {
        let lock = LockFactory::built_in(find(self.lock).unwrap());
        let simulation = simulation(self.scenario.clone(), lock, self.seed);
        let every = self.every;
        run_told(simulation, Reading { every, edit }).unwrap_or_else(|error| {
            panic!("{error}: {} with {}", self.lock, self.scenario.name);
        })
    }
}

/// A run with this lock, which may need more replicas than the scenario has.
fn simulation(mut scenario: Scenario, lock: LockFactory, seed: u64) -> Simulation {
    let replicas = &mut scenario.topology.replicas;
    *replicas = lock.replicas().max(*replicas);
    Simulation {
        spec: RunSpec::simulated(lock.spec(&BTreeMap::new()), scenario, seed),
        lock,
        logs_commands: false,
    }
}

/// A scenario of the catalog whose numbers need nothing from outside.
fn of_the_catalog() -> impl Strategy<Value = Scenario> {
    let scenarios = catalog::names().map(|name| catalog::named(name).unwrap());
    let fit = scenarios.filter(|scenario| {
        matches!(scenario.workload.ttl, LeaseDuration::Absolute(_))
            && scenario.topology.sentinels == 0
    });
    proptest::sample::select(fit.collect::<Vec<_>>())
}

fn cell() -> impl Strategy<Value = Cell> {
    let locks = LOCKS.iter().chain(MUTANTS);
    let locks: Vec<_> = locks.map(|lock| (lock.name, lock.nodes)).collect();
    let lock = proptest::sample::select(locks);
    let scenario = lock.prop_flat_map(|(lock, nodes)| {
        prop_oneof![arbitrary::scenario(nodes, 3), of_the_catalog()]
            .prop_map(move |scenario| (lock, scenario))
    });
    let every = prop_oneof![Just(1), 2u32..40];
    (scenario, any::<u64>(), every).prop_map(|((lock, scenario), seed, every)| Cell {
        scenario,
        lock,
        seed,
        every,
    })
}

/// So many runs; the same ones for the same number.
pub fn cells(count: usize, number: u64) -> impl Iterator<Item = Cell> {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let cells = cell();
    (0..count).map(move |_| cells.new_tree(&mut runner).unwrap().current())
}

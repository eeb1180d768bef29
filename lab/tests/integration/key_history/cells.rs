//! Random runs: any lock under a generated scenario, or under one from the catalog.

use picklock_harness::sim::{LockFactory, Simulation};
use picklock_harness::spec::RunSpec;
use picklock_impls::{Kind, LOCKS, MUTANTS, find};
use picklock_scenarios::{LeaseDuration, Scenario, arbitrary, catalog};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::monitor_key_history::{Edit, Reading, ReplayedRun, run_replayed};

/// A lock, a scenario and a seed.
#[derive(Debug, Clone)]
pub struct Cell {
    pub scenario: Scenario,
    pub lock: &'static str,
    pub seed: u64,
    /// Number of a node's operations after which its report is read.
    pub every: u32,
}

impl Cell {
    /// Executes the run. `edit` changes the reports before they are read.
    pub fn run(&self, edit: Option<Edit>) -> ReplayedRun {
        let lock = LockFactory::built_in(find(self.lock).unwrap());
        let simulation = simulation(self.scenario.clone(), lock, self.seed);
        let every = self.every;
        run_replayed(simulation, Reading { every, edit }).unwrap_or_else(|error| {
            panic!("{error}: {} with {}", self.lock, self.scenario.name);
        })
    }
}

/// Returns a run with this lock, with the replicas that it needs.
fn simulation(mut scenario: Scenario, lock: LockFactory, seed: u64) -> Simulation {
    let replicas = &mut scenario.topology.replicas;
    *replicas = lock.spec().replicas.max(*replicas);
    Simulation {
        spec: RunSpec::simulated(lock.spec().clone(), scenario, seed),
        lock,
        logs_commands: false,
    }
}

/// Generates scenarios from the catalog that have an absolute ttl and no Sentinels.
fn catalog_scenario() -> impl Strategy<Value = Scenario> {
    let scenarios = catalog::names().map(|name| catalog::named(name).unwrap());
    let fit = scenarios.filter(|scenario| {
        matches!(scenario.workload.ttl, LeaseDuration::Absolute(_))
            && scenario.topology.sentinels == 0
    });
    proptest::sample::select(fit.collect::<Vec<_>>())
}

fn cell() -> impl Strategy<Value = Cell> {
    // For a lock with several holders, the run's own key history contains the holders, and the replayed key history
    // contains the values.
    let locks = LOCKS
        .iter()
        .chain(MUTANTS)
        .filter(|lock| lock.kind == Kind::Mutex);
    let locks: Vec<_> = locks.map(|lock| (lock.name, lock.nodes)).collect();
    let lock = proptest::sample::select(locks);
    let scenario = lock.prop_flat_map(|(lock, nodes)| {
        prop_oneof![arbitrary::scenario(nodes, 3), catalog_scenario()]
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

/// Returns `count` runs, which are the same for the same `number`.
pub fn cells(count: usize, number: u64) -> impl Iterator<Item = Cell> {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let cells = cell();
    (0..count).map(move |_| cells.new_tree(&mut runner).unwrap().current())
}

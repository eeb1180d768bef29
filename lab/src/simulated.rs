//! One simulated run of a built-in lock, for whoever compares.

use std::collections::BTreeMap;

use picklock_harness::history::History;
use picklock_harness::lock_factory::LockFactory;
use picklock_harness::run::simulation;
use picklock_harness::spec::{Overrides, RunSpec, ScenarioSource, ServerChoice, resolve_scenario};
use picklock_impls::BuiltInLock;
use picklock_scenarios::{BackendName, Scenario};

/// A run, with its scenario as it fits the lock.
#[derive(Debug)]
pub struct SimulatedRun {
    /// What was run.
    pub scenario: Scenario,
    /// What happened.
    pub history: History,
}

/// Runs a scenario in the simulation; `None` if it does not fit the lock.
///
/// # Panics
/// The simulation gives no history: a lock is stuck, or Picklock is broken.
pub fn simulate(lock: &'static BuiltInLock, scenario: Scenario, seed: u64) -> Option<SimulatedRun> {
    let factory = LockFactory::of(lock);
    let about = factory.spec(&BTreeMap::new());
    let scenario = resolve_scenario(scenario, &about, Overrides::default()).ok()?;
    let spec = RunSpec {
        lock: about,
        scenario: scenario.clone(),
        source: ScenarioSource::Program,
        backend: BackendName::Sim,
        servers: ServerChoice::default(),
        seed,
        overrides: Overrides::default(),
    };
    let output = simulation(&spec, factory, false)
        .unwrap_or_else(|error| panic!("{}, seed {seed}: {error}", scenario.name));
    let history = output.history;
    Some(SimulatedRun { scenario, history })
}

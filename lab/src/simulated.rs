//! One simulated run of a built-in lock, for comparisons.

use picklock_harness::history::History;
use picklock_harness::lock_factory::LockFactory;
use picklock_harness::sim::{Simulation, run};
use picklock_harness::spec::RunSpec;
use picklock_impls::BuiltInLock;
use picklock_scenarios::Scenario;

/// A run, with the scenario as adapted to the lock.
#[derive(Debug)]
pub struct SimulatedRun {
    /// The scenario that was run.
    pub scenario: Scenario,
    /// The run's history.
    pub history: History,
}

/// Runs a scenario in the simulation. Returns `None` if it does not fit the lock.
///
/// # Panics
/// Panics if the simulation returns no history, because a lock is stuck or Picklock has a bug.
pub fn simulate(lock: &'static BuiltInLock, scenario: Scenario, seed: u64) -> Option<SimulatedRun> {
    let factory = LockFactory::built_in(lock);
    let about = factory.spec().clone();
    let spec = RunSpec::simulated(about, scenario, seed).resolved().ok()?;
    let scenario = spec.scenario.clone();
    let simulation = Simulation {
        spec,
        lock: factory,
        logs_commands: false,
    };
    let result =
        run(simulation).unwrap_or_else(|error| panic!("{}, seed {seed}: {error}", scenario.name));
    Some(SimulatedRun {
        scenario,
        history: result.history,
    })
}

//! What the catalog expects of every built-in lock comes out in the simulation.
//!
//! [`super::determinism`] calls this with the histories that it has simulated anyway.

use picklock_harness::check::judge;
use picklock_harness::expectation::{Expected, Tables};
use picklock_harness::history::History;
use picklock_impls::{LOCKS, find};
use picklock_scenarios::{BackendName, catalog};

/// True where the catalog expects something of this lock in the simulation: it expects nothing of
/// mutants, nor of a scenario with a number of nodes that the lock does not have.
fn is_expected(scenario: &str, lock: &str) -> bool {
    let nodes = find(lock).unwrap().nodes;
    LOCKS.iter().any(|strategy| strategy.name == lock)
        && catalog::named(scenario)
            .is_ok_and(|it| it.runs_in(BackendName::Sim) && it.check_for(nodes).is_ok())
}

/// Panics where a verdict is not what the catalog expects of this cell. Returns false where the
/// catalog expects nothing.
pub fn as_expected(name: &str, lock: &str, seed: u64, history: &History) -> bool {
    if !is_expected(name, lock) {
        return false;
    }
    let scenario = catalog::named(name).unwrap();
    let verdicts = judge(history);
    let surprises = Expected::of(&scenario, lock, Tables::NamedOrAll).surprises(&verdicts);
    if let Some(first) = surprises.first() {
        let story = &verdicts[&first.property].story;
        panic!("{lock} × {name}, seed {seed}: {surprises:?}: {story:#?}");
    }
    true
}

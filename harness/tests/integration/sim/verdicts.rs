//! What the catalog expects of every built-in lock comes out in the simulation.
//!
//! [`super::determinism`] calls this with the histories that it has simulated anyway.

use picklock_harness::check::{Property, Status, judge};
use picklock_harness::history::History;
use picklock_impls::{LOCKS, find};
use picklock_scenarios::{BackendName, Expectation, catalog};

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
    let expected = scenario.expect.get(lock).unwrap_or(&scenario.expect["*"]);
    let verdicts = judge(history);
    for property in Property::ALL {
        let verdict = &verdicts[&property];
        let (status, cause) = match expected.get(property.word()) {
            Some(Expectation::Held) => (Status::Held, None),
            Some(Expectation::Violated { cause }) => (Status::Violated, cause.as_deref()),
            Some(Expectation::Any) | None => continue,
        };
        let cell = format!("{lock} × {name}, seed {seed}, {property}");
        assert_eq!(verdict.status, status, "{cell}: {:#?}", verdict.story);
        if let Some(cause) = cause {
            assert_eq!(verdict.cause.unwrap().word(), cause, "{cell}");
        }
    }
    true
}

//! The articles' claims about the built-in locks, each as a test named after it. Also the mutants,
//! each of which must be caught by its own scenario.

mod claims;
mod clocks;
mod durability;
mod mutants;
mod options;

use picklock_harness::Trial;
use picklock_harness::history::EventKind;
use picklock_harness::sim::LockFactory;
use picklock_harness::trial::{Outcome, TrialRun};
use picklock_impls::find;

/// Returns a built-in lock.
pub fn lock(name: &str) -> LockFactory {
    LockFactory::built_in(find(name).unwrap_or_else(|| panic!("no lock `{name}`")))
}

/// Returns a scenario from its tables, with a few seeds.
pub fn scenario(tables: &str) -> Trial {
    let text = format!("name = \"article\"\nsummary = \"A claim of an article.\"\n{tables}");
    Trial::from_toml(&text)
        .unwrap_or_else(|error| panic!("{error}"))
        .seeds(0..3)
}

/// Returns a catalog scenario, with a few seeds.
pub fn catalog(name: &str) -> Trial {
    let trial = Trial::scenario(name).unwrap_or_else(|error| panic!("{error}"));
    trial.seeds(0..3)
}

/// Runs a trial with a built-in lock.
pub fn run(trial: &Trial, name: &str) -> Outcome {
    let outcome = trial.run_lock(&lock(name));
    outcome.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the times of all grants.
pub fn grants(run: &TrialRun) -> impl Iterator<Item = u64> {
    let events = run.history.events.iter();
    events
        .filter_map(|event| matches!(event.what, EventKind::Granted { .. }).then_some(event.at_ns))
}

//! What the articles say of the built-in locks, each claim a test of that name; and the mutants,
//! each caught by what was made to catch it.

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

/// A built-in lock.
pub fn lock(name: &str) -> LockFactory {
    LockFactory::built_in(find(name).unwrap_or_else(|| panic!("no lock `{name}`")))
}

/// A scenario from its tables, a few seeds of it.
pub fn scenario(tables: &str) -> Trial {
    let text = format!("name = \"article\"\nsummary = \"What an article says.\"\n{tables}");
    Trial::from_toml(&text)
        .unwrap_or_else(|error| panic!("{error}"))
        .seeds(0..3)
}

/// A scenario of the catalog, a few seeds of it.
pub fn catalog(name: &str) -> Trial {
    let trial = Trial::scenario(name).unwrap_or_else(|error| panic!("{error}"));
    trial.seeds(0..3)
}

/// The trial of a built-in lock.
pub fn run(trial: &Trial, name: &str) -> Outcome {
    let ran = trial.run_lock(&lock(name));
    ran.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// When somebody got the lock.
pub fn grants(run: &TrialRun) -> impl Iterator<Item = u64> {
    let events = run.history.events.iter();
    events
        .filter_map(|event| matches!(event.what, EventKind::Granted { .. }).then_some(event.at_ns))
}

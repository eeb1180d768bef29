//! What the articles say of the built-in locks, each claim a test of that name; and the mutants,
//! each caught by what was made to catch it.

#![expect(
    clippy::unwrap_used,
    reason = "these are tests; clippy only knows functions marked as such"
)]

mod claims;
mod mutants;
mod options;

use picklock_harness::Trial;
use picklock_harness::sim::Subject;
use picklock_harness::trial::Outcome;
use picklock_impls::find;

/// A built-in lock.
pub fn lock(name: &str) -> Subject {
    Subject::of(find(name).unwrap_or_else(|| panic!("no lock `{name}`")))
}

/// A scenario from its tables, a few seeds of it.
pub fn scenario(tables: &str) -> Trial {
    let text = format!("name = \"article\"\nsummary = \"What an article says.\"\n{tables}");
    Trial::of_toml(&text)
        .unwrap_or_else(|error| panic!("{error}"))
        .seeds(0..3)
}

/// The trial of a built-in lock.
pub fn run(trial: &Trial, name: &str) -> Outcome {
    let ran = trial.run_subject(&lock(name));
    ran.unwrap_or_else(|error| panic!("{name}: {error}"))
}

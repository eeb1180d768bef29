//! Runs on which Picklock and the judge disagreed until one of the two was mended: `settled.toml` has them.

use picklock_impls::find;
use picklock_scenarios::{Scenario, catalog};
use serde::Deserialize;

use super::compare::{Comparison, Disagreement, simulate};

/// A lock in a scenario. What else the file says of it is for the reader.
#[derive(Deserialize)]
pub struct Run {
    /// The name of a scenario of the catalog.
    catalog: Option<String>,
    /// The name of a scenario that is in no catalog.
    name: Option<String>,
    /// Its text.
    scenario: Option<String>,
    lock: String,
    seed: u64,
}

#[derive(Deserialize)]
struct Runs {
    run: Vec<Run>,
}

/// The settled runs.
pub fn settled() -> Vec<Run> {
    let runs: Runs = toml::from_str(include_str!("settled.toml")).expect("the settled runs");
    runs.run
}

impl Run {
    /// On what the two disagree.
    pub fn disagreements(&self) -> Vec<Disagreement> {
        let (name, scenario) = match (&self.catalog, &self.name, &self.scenario) {
            (Some(name), None, None) => (name, catalog::named(name)),
            (None, Some(name), Some(text)) => (name, Scenario::parse(text, name)),
            _ => panic!(
                "{} {}: `catalog`, or `name` and `scenario`",
                self.lock, self.seed
            ),
        };
        let scenario = scenario.unwrap_or_else(|error| panic!("{name}: {error}"));
        let lock = find(&self.lock).expect("a built-in lock");
        let ran = simulate(lock, scenario, self.seed).expect("it fits the lock");
        let mut comparison = Comparison::default();
        comparison.compare(&ran);
        comparison.disagreements
    }
}

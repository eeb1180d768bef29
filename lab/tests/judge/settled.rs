//! Runs on which Picklock and the judge disagreed until one of them was fixed, from `settled.toml`.

use picklock_impls::find;
use picklock_scenarios::{Scenario, catalog};
use serde::Deserialize;

use super::compare::{Comparison, Disagreement, simulate};
use super::kinds;

/// A lock in a scenario. The file's other fields are comments for the reader.
#[derive(Deserialize)]
pub struct Run {
    /// Name of a scenario from the catalog.
    catalog: Option<String>,
    /// Name of a scenario that is not in the catalog.
    name: Option<String>,
    /// Text of the scenario.
    scenario: Option<String>,
    lock: String,
    seed: u64,
}

#[derive(Deserialize)]
struct Runs {
    run: Vec<Run>,
}

/// Returns the settled runs.
pub fn settled() -> Vec<Run> {
    let runs: Runs = toml::from_str(include_str!("settled.toml")).expect("the settled runs");
    runs.run
}

impl Run {
    /// Returns the disagreements between Picklock and the judge on this run.
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
        let run = simulate(lock, scenario, self.seed).expect("it fits the lock");
        let mut comparison = Comparison::default();
        if kinds::is_of_another_kind(&run.history) {
            comparison.compare_with(&run, &kinds::judge(&run.history));
        } else {
            comparison.compare(&run);
        }
        comparison.disagreements
    }
}

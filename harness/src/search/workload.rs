//! The workloads of a sweep: small, and without faults.

use picklock_scenarios::{Scenario, ScenarioError};

/// The workloads by name, simplest first. A new one is a file in `workloads/` and a line here.
const WORKLOADS: [(&str, &str); 5] = [
    ("short", include_str!("workloads/short.toml")),
    ("held", include_str!("workloads/held.toml")),
    ("extend", include_str!("workloads/extend.toml")),
    ("keys", include_str!("workloads/keys.toml")),
    ("waiting", include_str!("workloads/waiting.toml")),
];

/// The names of the workloads, simplest first.
pub fn names() -> impl Iterator<Item = &'static str> {
    WORKLOADS.iter().map(|(name, _)| *name)
}

/// The workload of this name. `None`: there is none.
///
/// # Errors
/// Its file is wrong, which a test excludes.
pub fn named(name: &str) -> Option<Result<Scenario, ScenarioError>> {
    let (name, text) = WORKLOADS.iter().find(|(known, _)| *known == name)?;
    Some(Scenario::parse(text, name))
}

/// What of the workload a hunt does not draw.
///
/// # Errors
/// Its file is wrong, which a test excludes.
pub fn for_hunts() -> Result<Scenario, ScenarioError> {
    Scenario::parse(include_str!("workloads/hunt.toml"), "hunt")
}

/// The servers and the workload of a scenario, without its faults and expectations.
#[must_use]
pub fn without_faults(scenario: Scenario) -> Scenario {
    Scenario {
        faults: Vec::new(),
        expect: std::collections::BTreeMap::new(),
        ..scenario
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_is_valid_and_has_no_fault() {
        for name in names() {
            let scenario = named(name).unwrap().unwrap();
            assert_eq!((scenario.name.as_str(), scenario.faults.len()), (name, 0));
        }
        assert_eq!(for_hunts().unwrap().faults.len(), 0);
    }
}

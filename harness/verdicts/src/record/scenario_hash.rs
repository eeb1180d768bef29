//! The hash of a scenario's content.

use picklock_scenarios::Scenario;

/// Returns a hash of everything in the scenario that affects a run, as 40 hex digits.
///
/// Scenarios with the same name but different hashes differ, so their results are not comparable. Descriptions
/// (summary, source, measures) and expectations are excluded, because they do not affect a run. The hash covers the
/// parsed scenario, so comments, order and explicit defaults in the file do not change it.
pub fn scenario_hash(scenario: &Scenario) -> String {
    let as_run = Scenario {
        summary: String::new(),
        source: None,
        measures: None,
        expect: std::collections::BTreeMap::new(),
        ..scenario.clone()
    };
    let canonical =
        serde_json::to_vec(&as_run).expect("a scenario holds only text, numbers and plain maps");
    sha1_smol::Sha1::from(canonical).digest().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> String {
        scenario_hash(&Scenario::parse(text, "mine.toml").unwrap())
    }

    const PLAIN: &str = "name = \"mine\"\nsummary = \"One.\"\n";

    #[test]
    fn words_and_spelling_do_not_count() {
        let spelled = format!(
            "# a comment\nsource = \"me\"\n{}\n[workload]\nkeys = 1\nworkers = 3\n[expect.\"*\"]\nlease = \"held\"\n",
            PLAIN.replace("One", "Two")
        );
        assert_eq!(hash(PLAIN), hash(&spelled));
        assert_eq!(hash(PLAIN).len(), 40);
    }

    #[test]
    fn everything_that_affects_a_run_counts() {
        for change in [
            "[workload]\nworkers = 4\n",
            "[topology]\nnodes = 5\n",
            "[judge]\nmin_grants = 3\n",
            "[[fault]]\nkind = \"flush-all\"\nat = \"1s\"\nnodes = \"all\"\n",
        ] {
            assert_ne!(hash(PLAIN), hash(&format!("{PLAIN}{change}")), "{change}");
        }
    }
}

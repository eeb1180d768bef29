//! What searches have found: each file in `scenarios/regressions/` still shows it, for each lock that it names.

use std::fs;
use std::path::Path;

use picklock_harness::check::judge;
use picklock_harness::expectation::{Expected, Tables};
use picklock_harness::search::Plan;
use picklock_scenarios::Scenario;

use super::{ran, target};

#[test]
fn every_find_that_was_kept_shows_itself_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/regressions");
    let mut shown = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let scenario = Scenario::parse(&text, &path.display().to_string()).unwrap();
        for lock in scenario.expect.keys() {
            let plan = Plan {
                scenario: scenario.clone(),
                seed: 1,
            };
            let verdicts = judge(&ran(&target(lock), &plan).history);
            let expected = Expected::of(&scenario, lock, Tables::NamedOnly);
            let surprises = expected.surprises(&verdicts);
            assert!(
                surprises.is_empty(),
                "{lock} × {}: {surprises:?}",
                path.display()
            );
            shown += 1;
        }
    }
    assert!(shown > 0);
}

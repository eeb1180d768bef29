//! Finds the built-in lock that a lock behaves like, from handwritten verdicts and expectations.

use std::collections::BTreeMap;

use picklock_reports::matrix::{ReferenceLock, describe_similarity, similarity};
use picklock_reports::report_input::ReportInput;
use picklock_scenarios::Scenario;
use picklock_verdicts::check::{Cause, Property};
use picklock_verdicts::expectation::{Expected, Tables};
use picklock_verdicts::record::{Cell, MatrixRecord};

use crate::cell::{cell, violated};
use crate::cells::file;

const LATE: &str = r#"
name = "late"
summary = "A delete comes late."
[expect."*"]
exclusion = "held"
lease = "held"
[expect.careless]
exclusion = "violated: stolen-release"
lease = "violated: stolen-release"
"#;

const PAUSE: &str = r#"
name = "pause"
summary = "A client pauses."
[expect."*"]
exclusion = "violated: outlived-lease"
lease = "held"
resource = "any"
"#;

/// Returns `careful` and `equal`, which keep every property, and `careless`, which does not.
fn references() -> Vec<ReferenceLock> {
    let scenarios = [LATE, PAUSE].map(|text| Scenario::parse(text, "mine.toml").unwrap());
    let reference = |name: &str| ReferenceLock {
        name: name.to_owned(),
        expected: scenarios
            .iter()
            .map(|scenario| {
                let expected = Expected::for_lock(scenario, name, Tables::NamedOrAll);
                (scenario.name.clone(), expected)
            })
            .collect::<BTreeMap<_, _>>(),
    };
    ["careless", "equal", "careful"].map(reference).into()
}

fn describe(cells: &[Cell], reference_name: &str) -> Option<String> {
    let cells: Vec<&Cell> = cells.iter().collect();
    similarity(&cells, &references(), Some(reference_name)).map(|found| describe_similarity(&found))
}

fn outlived() -> Cell {
    let outlived = violated(Cause::OutlivedLease, &[]);
    cell("mine", "pause", &[(Property::Exclusion, outlived)])
}

fn stolen(cause: Cause) -> Cell {
    let stolen =
        [Property::Exclusion, Property::Lease].map(|property| (property, violated(cause, &[])));
    cell("mine", "late", &stolen)
}

#[test]
fn reference_lock_wins_among_equals() {
    let cells = [cell("mine", "late", &[]), outlived()];
    assert_eq!(describe(&cells, "careful").unwrap(), "mine: like careful");
    assert_eq!(describe(&cells, "equal").unwrap(), "mine: like equal");
    // With the worse lock as its reference, it is still like the better ones, of which the first one wins.
    assert_eq!(describe(&cells, "careless").unwrap(), "mine: like equal");
}

#[test]
fn worse_lock_lists_where_its_reference_would_hold() {
    let cells = [stolen(Cause::StolenRelease), outlived()];
    let text = "mine: like careless; careful would also hold in late";
    assert_eq!(describe(&cells, "careful").unwrap(), text);
    assert_eq!(describe(&cells, "careless").unwrap(), "mine: like careless");
    // Another cause is a different violation with the same result.
    let cells = [stolen(Cause::Race), outlived()];
    assert_eq!(describe(&cells, "careful").unwrap(), text);
}

#[test]
fn lock_without_a_match_gets_the_closest_one() {
    let lease = (Property::Lease, violated(Cause::Race, &[]));
    let cells = [cell("mine", "late", &[]), cell("mine", "pause", &[lease])];
    let text =
        "mine: closest to careful, from which 2 of 11 results differ; careful would hold in pause";
    assert_eq!(describe(&cells, "careful").unwrap(), text);
}

#[test]
fn inconclusive_cells_are_not_compared() {
    let unknown = |scenario: &str| {
        let all = Property::ALL.map(|property| (property, crate::inconclusive("too little")));
        cell("mine", scenario, &all)
    };
    assert_eq!(
        describe(&[unknown("late"), unknown("pause")], "careful"),
        None
    );
    assert_eq!(describe(&[], "careful"), None);
    assert_eq!(describe(&[cell("mine", "another", &[])], "careful"), None);
    let mut failed = stolen(Cause::Race);
    failed.error = Some("no server".into());
    assert_eq!(describe(&[failed], "careful"), None);
    let cells = [unknown("late"), outlived()];
    assert_eq!(describe(&cells, "careful").unwrap(), "mine: like careful");
}

#[test]
fn lock_with_another_number_of_servers_is_not_compared() {
    let cells = [outlived()];
    let cells: Vec<&Cell> = cells.iter().collect();
    let found = similarity(&cells, &[], None).unwrap();
    let text = "mine: no built-in lock uses this number of servers";
    assert_eq!(describe_similarity(&found), text);
    assert_eq!(similarity(&[], &[], None), None);
}

#[test]
fn reports_state_the_backend_of_a_similarity() {
    let cells = vec![cell("mine", "late", &[]), outlived()];
    let all: Vec<&Cell> = cells.iter().collect();
    let similarity = Vec::from_iter(similarity(&all, &references(), Some("careful")));
    let matrix = MatrixRecord {
        cells,
        similarity,
        ..MatrixRecord::default()
    };
    let input = ReportInput {
        matrix,
        ..ReportInput::default()
    };
    for (format, name) in [("html", "report.html"), ("md", "report.md")] {
        let page = file(&input, format, name);
        assert!(page.contains("mine: like careful (sim)"), "{format}");
    }
}

#[test]
fn violation_in_a_hidden_run_counts() {
    let mut once = cell("mine", "late", &[]);
    once.runs = 20;
    once.tally.get_mut(&Property::Lease).unwrap().violated = 1;
    let text = describe(&[once, outlived()], "careful").unwrap();
    assert!(text.ends_with("careful would hold in late"), "{text}");
}

//! Which built-in lock a lock behaves like, from verdicts and expectations written by hand.

use std::collections::BTreeMap;

use picklock_reports::matrix::{ReferenceLock, similarity, similarity_in_words};
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

/// `careful` and `equal` keep everything that can be kept, `careless` does not.
fn references() -> Vec<ReferenceLock> {
    let scenarios = [LATE, PAUSE].map(|text| Scenario::parse(text, "mine.toml").unwrap());
    let of = |name: &str| ReferenceLock {
        name: name.to_owned(),
        expected: scenarios
            .iter()
            .map(|scenario| {
                let expected = Expected::for_lock(scenario, name, Tables::NamedOrAll);
                (scenario.name.clone(), expected)
            })
            .collect::<BTreeMap<_, _>>(),
    };
    ["careless", "equal", "careful"].map(of).into()
}

fn said(cells: &[Cell], held_to: &str) -> Option<String> {
    let cells: Vec<&Cell> = cells.iter().collect();
    similarity(&cells, &references(), Some(held_to)).map(|found| similarity_in_words(&found))
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
fn the_lock_that_it_is_held_to_wins_among_equals() {
    let cells = [cell("mine", "late", &[]), outlived()];
    assert_eq!(said(&cells, "careful").unwrap(), "mine: like careful");
    assert_eq!(said(&cells, "equal").unwrap(), "mine: like equal");
    // Held to the worse one, it is still like the better ones, the first of them.
    assert_eq!(said(&cells, "careless").unwrap(), "mine: like equal");
}

#[test]
fn a_worse_lock_is_told_where_the_better_one_would_hold() {
    let cells = [stolen(Cause::StolenRelease), outlived()];
    let text = "mine: like careless; careful would also hold in late";
    assert_eq!(said(&cells, "careful").unwrap(), text);
    assert_eq!(said(&cells, "careless").unwrap(), "mine: like careless");
    // Another cause is another story, but the same results.
    let cells = [stolen(Cause::Race), outlived()];
    assert_eq!(said(&cells, "careful").unwrap(), text);
}

#[test]
fn lock_like_no_other_gets_the_closest_one() {
    let lease = (Property::Lease, violated(Cause::Race, &[]));
    let cells = [cell("mine", "late", &[]), cell("mine", "pause", &[lease])];
    let text =
        "mine: closest to careful, from which 2 of 11 results differ; careful would hold in pause";
    assert_eq!(said(&cells, "careful").unwrap(), text);
}

#[test]
fn unjudged_cells_are_not_compared() {
    let unknown = |scenario: &str| {
        let all = Property::ALL.map(|property| (property, crate::inconclusive("too little")));
        cell("mine", scenario, &all)
    };
    assert_eq!(said(&[unknown("late"), unknown("pause")], "careful"), None);
    assert_eq!(said(&[], "careful"), None);
    assert_eq!(said(&[cell("mine", "another", &[])], "careful"), None);
    let mut failed = stolen(Cause::Race);
    failed.error = Some("no server".into());
    assert_eq!(said(&[failed], "careful"), None);
    let cells = [unknown("late"), outlived()];
    assert_eq!(said(&cells, "careful").unwrap(), "mine: like careful");
}

#[test]
fn a_lock_on_other_servers_than_any_built_in_one_is_compared_with_none() {
    let cells = [outlived()];
    let cells: Vec<&Cell> = cells.iter().collect();
    let found = similarity(&cells, &[], None).unwrap();
    let text = "mine: no built-in lock uses as many servers";
    assert_eq!(similarity_in_words(&found), text);
    assert_eq!(similarity(&[], &[], None), None);
}

#[test]
fn the_pages_say_in_which_backend() {
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
fn a_violation_in_a_run_that_is_not_shown_counts() {
    let mut once = cell("mine", "late", &[]);
    once.runs = 20;
    once.tally.get_mut(&Property::Lease).unwrap().violated = 1;
    let said = said(&[once, outlived()], "careful").unwrap();
    assert!(said.ends_with("careful would hold in late"), "{said}");
}

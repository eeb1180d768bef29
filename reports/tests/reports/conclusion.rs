//! How cells count: the same in every report, and what follows from all of them.

use std::collections::BTreeMap;

use picklock_reports::gate::{GateOutcome, GateRuns, Rules, decide};
use picklock_reports::matrix::{CellOutcome, Conclusion, counts_in_words};
use picklock_reports::report_input::ReportInput;
use picklock_reports::{documents, terminal};
use picklock_scenarios::BackendName;
use picklock_verdicts::check::{Cause, InconclusiveReason, Property, Verdict};
use picklock_verdicts::record::{Cell, MatrixRecord, Mismatch, SkippedCell};

use crate::cell::{cell, violated};
use crate::cells::file;

/// A cell of each kind.
fn every_kind() -> BTreeMap<&'static str, Cell> {
    let race = || [(Property::Lease, violated(Cause::Race, &[]))];
    let unknown = || [(Property::Lease, crate::inconclusive("too little"))];
    let open = |mut cell: Cell| {
        cell.expected.clear();
        cell
    };
    let differs = |mut cell: Cell, got: &str| {
        cell.mismatches = vec![Mismatch {
            property: Property::Lease,
            expected: "held".parse().unwrap(),
            got: got.parse().unwrap(),
            runs: 1,
        }];
        cell
    };
    let mut failed = cell("a", "failed", &[]);
    failed.error = Some("no server".into());
    let mut any = cell("a", "any", &race());
    any.expected = BTreeMap::from([(Property::Lease, "any".parse().unwrap())]);
    BTreeMap::from([
        ("expected", cell("a", "expected", &[])),
        (
            "mismatch",
            differs(cell("a", "mismatch", &race()), "violated: race"),
        ),
        (
            "undecided",
            differs(cell("a", "undecided", &unknown()), "unknown"),
        ),
        ("failed", failed),
        ("any", any),
        ("inapplicable", not_offered()),
        ("open", open(cell("a", "open", &[]))),
        ("open-violated", open(cell("a", "open-violated", &race()))),
        (
            "open-undecided",
            open(cell("a", "open-undecided", &unknown())),
        ),
    ])
}

/// A cell whose lock does not offer what the scenario asks for.
fn not_offered() -> Cell {
    let reason = InconclusiveReason::ExtensionUntested {
        unsupported: Some("it never could".into()),
    };
    let verdict = || Verdict::inapplicable(vec![reason.clone()]);
    let all = Property::ALL.map(|property| (property, verdict()));
    cell("a", "inapplicable", &all)
}

fn matrix(names: &[&str]) -> MatrixRecord {
    let mut kinds = every_kind();
    MatrixRecord {
        cells: names
            .iter()
            .map(|name| kinds.remove(name).unwrap())
            .collect(),
        seeds: 1,
        ..MatrixRecord::default()
    }
}

fn all() -> MatrixRecord {
    let kinds = every_kind();
    matrix(&kinds.keys().copied().collect::<Vec<_>>())
}

/// A matrix of two locks with every kind of cell, one of which was left out.
#[test]
fn every_report_counts_the_same() {
    let mut record = all();
    record.skipped.push(SkippedCell {
        lock: "b".into(),
        scenario: "inapplicable".into(),
        backend: BackendName::Sim,
        reason: "it needs 4 nodes".into(),
        family: None,
    });
    let said = counts_in_words(&record);
    assert_eq!(
        said,
        "10 cells: 1 as expected, 1 surprising, 1 could not be judged, 1 could not be run, 2 open, \
         1 open and violated, 1 open and not judged, 2 not applicable"
    );
    let document: MatrixRecord = serde_json::from_str(&documents::json(&record)).unwrap();
    assert_eq!(counts_in_words(&document), said);
    let text = terminal::matrix(&record, 200);
    let plain: String = text
        .split('\u{1b}')
        .map(|part| part.split_once('m').map_or(part, |it| it.1))
        .collect();
    assert!(plain.contains(&said), "{plain}");
    let input = ReportInput {
        matrix: record,
        ..ReportInput::default()
    };
    let markdown = file(&input, "md", "report.md");
    assert!(markdown.contains(&said), "{markdown}");
    let html = file(&input, "html", "report.html");
    assert!(html.contains(&said), "the page does not say `{said}`");
    for (report, text) in [("terminal", &plain), ("md", &markdown), ("html", &html)] {
        for why in ["it never could", "it needs 4 nodes"] {
            assert!(text.contains(why), "{report} does not say `{why}`");
        }
    }
    // A unexpected result and an open violation are failures; what could not be judged is an error; what could not be run or
    // is not applicable is skipped.
    let junit = file(&input, "junit", "junit.xml");
    let count = |what: &str| junit.matches(what).count();
    let counts = [count("<failure "), count("<error "), count("<skipped ")];
    assert_eq!(counts, [2, 2, 3], "{junit}");
    assert_eq!(count("<testcase "), 10, "{junit}");
    let shown = |what: &str| html.matches(what).count();
    let cells = [shown("<a class=\"tile"), shown("<span class=\"skipped\">")];
    assert_eq!(cells, [9, 0], "lock b has run nowhere, and has no column");
    assert!(html.contains("Cells that are not applicable: 2"));
}

#[test]
fn exit_code_is_that_of_the_worst_cell() {
    let conclusion = |names: &[&str]| Conclusion::from_matrix(&matrix(names));
    let violated = |unexpected, open| Conclusion::Violated { unexpected, open };
    for (names, expected, why) in [
        (
            &["expected", "open", "any"][..],
            Conclusion::AsExpected,
            "nothing differs",
        ),
        (
            &["undecided", "open-undecided"],
            Conclusion::Inconclusive(2),
            "2 cells could not be judged",
        ),
        (
            &["expected", "inapplicable"],
            Conclusion::AsExpected,
            "nothing differs",
        ),
        (
            &["inapplicable"],
            Conclusion::NothingApplies,
            "nothing was tested",
        ),
        (
            &["undecided", "failed"],
            Conclusion::NotRun(1),
            "1 cell could not be run",
        ),
        (
            &["failed", "open-violated"],
            violated(0, 1),
            "1 cell has a violation, and",
        ),
        (
            &["mismatch", "undecided"],
            violated(1, 0),
            "1 cell is not as expected",
        ),
        (
            &["mismatch", "open-violated"],
            violated(1, 1),
            "1 cell is not as expected; 1 cell has",
        ),
    ] {
        let found = conclusion(names);
        assert_eq!(found, expected, "{names:?}");
        assert!(found.why().contains(why), "{}", found.why());
    }
    let interrupted = MatrixRecord {
        interrupted: true,
        ..matrix(&["mismatch"])
    };
    assert_eq!(
        Conclusion::from_matrix(&interrupted),
        Conclusion::Interrupted
    );
}

#[test]
fn the_headline_of_an_interrupted_matrix_tells_what_its_cells_show() {
    for (name, headline) in [
        ("mismatch", "## Picklock: ✘ 1 cell is not as expected\n"),
        ("failed", "## Picklock: 1 cell could not be run\n"),
        ("expected", "## Picklock: it was interrupted\n"),
    ] {
        let input = ReportInput {
            matrix: MatrixRecord {
                interrupted: true,
                ..matrix(&[name])
            },
            ..ReportInput::default()
        };
        let markdown = file(&input, "md", "report.md");
        assert!(markdown.starts_with(headline), "{markdown}");
        assert!(markdown.contains("It was **interrupted**"), "{markdown}");
    }
}

/// One seed showed a violation, and another could not be run.
#[test]
fn a_violation_is_not_lost_where_another_seed_could_not_be_run() {
    for (name, outcome) in [
        ("mismatch", CellOutcome::Unexpected),
        ("open-violated", CellOutcome::ViolatedNoExpectation),
        ("expected", CellOutcome::NotRun),
        ("undecided", CellOutcome::NotRun),
        ("open", CellOutcome::NotRun),
        ("any", CellOutcome::NotRun),
    ] {
        let mut record = matrix(&[name]);
        record.cells[0].runs = 2;
        record.cells[0].error = Some("seed 8: no server".into());
        assert_eq!(CellOutcome::from_cell(&record.cells[0]), outcome, "{name}");
        let is_violated = outcome != CellOutcome::NotRun;
        let conclusion = Conclusion::from_matrix(&record);
        let is_failure = matches!(conclusion, Conclusion::Violated { .. });
        assert_eq!(is_failure, is_violated, "{name}: {conclusion:?}");
        let text = terminal::matrix(&record, 200);
        assert_ne!(text.contains("! not run"), is_violated, "{text}");
        let ran = GateRuns {
            matrix: record.clone(),
            paired: Vec::new(),
        };
        let gate = decide(&Rules::default(), None, &ran).outcome();
        let differs = gate == GateOutcome::Differs;
        assert_eq!(differs, is_violated, "{name}: {gate:?}");
        let input = ReportInput {
            matrix: record,
            ..ReportInput::default()
        };
        let junit = file(&input, "junit", "junit.xml");
        assert_eq!(junit.contains("<failure "), is_violated, "{junit}");
        let markdown = file(&input, "md", "report.md");
        assert_eq!(markdown.contains("### Not as expected"), is_violated);
        assert!(markdown.contains("seed 8: no server"), "{markdown}");
    }
}

#[test]
fn violation_in_a_hidden_run_is_counted() {
    let mut open = every_kind().remove("open").unwrap();
    open.tally.get_mut(&Property::Claims).unwrap().unknown = 1;
    assert_eq!(
        CellOutcome::from_cell(&open),
        CellOutcome::InconclusiveNoExpectation
    );
    let input = ReportInput {
        matrix: MatrixRecord {
            cells: vec![open],
            ..MatrixRecord::default()
        },
        ..ReportInput::default()
    };
    let junit = file(&input, "junit", "junit.xml");
    assert!(junit.contains("<error "), "{junit}");
}

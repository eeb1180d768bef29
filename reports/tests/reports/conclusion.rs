//! Outcomes of cells: the same in every report, and the conclusion from all of them.

use std::collections::BTreeMap;

use picklock_reports::gate::{GateRuns, Rules, decide};
use picklock_reports::matrix::{CellOutcome, Conclusion, Severity, describe_counts};
use picklock_reports::report_input::ReportInput;
use picklock_reports::{documents, terminal};
use picklock_scenarios::BackendName;
use picklock_verdicts::check::{Cause, InconclusiveReason, Property, Verdict};
use picklock_verdicts::record::{Cell, MatrixRecord, Mismatch, SkippedCell};

use crate::cell::{cell, violated};
use crate::cells::file;

/// Returns a cell of each kind.
fn every_kind() -> BTreeMap<&'static str, Cell> {
    let race = || [(Property::Lease, violated(Cause::Race, &[]))];
    let unknown = || [(Property::Lease, crate::inconclusive("too little"))];
    let without_expectation = |mut cell: Cell| {
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
            "inconclusive",
            differs(cell("a", "inconclusive", &unknown()), "unknown"),
        ),
        ("failed", failed),
        ("any", any),
        ("inapplicable", not_offered()),
        (
            "held-free",
            without_expectation(cell("a", "held-free", &[])),
        ),
        (
            "violated-free",
            without_expectation(cell("a", "violated-free", &race())),
        ),
        (
            "inconclusive-free",
            without_expectation(cell("a", "inconclusive-free", &unknown())),
        ),
    ])
}

/// Returns a cell whose lock does not offer what the scenario requires.
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

/// A matrix of two locks with every kind of cell, one of which was omitted.
#[test]
fn every_report_has_the_same_counts() {
    let mut record = all();
    record.skipped.push(SkippedCell {
        lock: "b".into(),
        scenario: "inapplicable".into(),
        backend: BackendName::Sim,
        reason: "it needs 4 nodes".into(),
        family: None,
    });
    let counts = describe_counts(&record);
    assert_eq!(
        counts,
        "10 cells: 1 as expected, 1 unexpected, 1 inconclusive, 1 failed to run, 2 held (nothing expected), \
         1 violated (nothing expected), 1 inconclusive (nothing expected), 2 not applicable"
    );
    let document: MatrixRecord = serde_json::from_str(&documents::json(&record)).unwrap();
    assert_eq!(describe_counts(&document), counts);
    let text = terminal::matrix(&record, 200).to_string();
    let plain: String = text
        .split('\u{1b}')
        .map(|part| part.split_once('m').map_or(part, |it| it.1))
        .collect();
    assert!(plain.contains(&counts), "{plain}");
    let input = ReportInput {
        matrix: record,
        ..ReportInput::default()
    };
    let markdown = file(&input, "md", "report.md");
    assert!(markdown.contains(&counts), "{markdown}");
    let html = file(&input, "html", "report.html");
    assert!(html.contains(&counts), "the page lacks `{counts}`");
    for (report, text) in [("terminal", &plain), ("md", &markdown), ("html", &html)] {
        for why in ["it never could", "it needs 4 nodes"] {
            assert!(text.contains(why), "{report} lacks `{why}`");
        }
    }
    // Unexpected results and violations without an expectation are failures. Inconclusive cells are errors.
    // Cells that failed to run or are not applicable are skipped.
    let junit = file(&input, "junit", "junit.xml");
    let count = |what: &str| junit.matches(what).count();
    let junit_counts = [count("<failure "), count("<error "), count("<skipped ")];
    assert_eq!(junit_counts, [2, 2, 3], "{junit}");
    assert_eq!(count("<testcase "), 10, "{junit}");
    let shown = |what: &str| html.matches(what).count();
    let cells = [shown("<a class=\"tile"), shown("<span class=\"skipped\">")];
    assert_eq!(cells, [9, 0], "lock b was never run, so it has no column");
    assert!(html.contains("Cells that are not applicable: 2"));
}

#[test]
fn worst_cell_determines_the_conclusion() {
    for (names, severity, description) in [
        (
            &["expected", "held-free", "any"][..],
            Severity::AsExpected,
            "everything is as expected",
        ),
        (
            &["inconclusive", "inconclusive-free"],
            Severity::Inconclusive,
            "2 cells are inconclusive",
        ),
        (
            &["expected", "inapplicable"],
            Severity::AsExpected,
            "everything is as expected",
        ),
        (
            &["inapplicable"],
            Severity::AsExpected,
            "nothing was tested: no cell is applicable",
        ),
        (
            &["inconclusive", "failed"],
            Severity::NotRun,
            "1 cell failed to run",
        ),
        (
            &["failed", "violated-free"],
            Severity::Failed,
            "1 cell without an expectation has a violation",
        ),
        (
            &["mismatch", "inconclusive"],
            Severity::Failed,
            "1 cell is unexpected",
        ),
        (
            &["mismatch", "violated-free"],
            Severity::Failed,
            "1 cell is unexpected; 1 cell without an expectation has a violation",
        ),
    ] {
        let conclusion = Conclusion::from_matrix(&matrix(names));
        assert_eq!(conclusion.severity(), severity, "{names:?}");
        assert_eq!(conclusion.describe(), description, "{names:?}");
    }
    let interrupted = MatrixRecord {
        interrupted: true,
        ..matrix(&["mismatch"])
    };
    assert!(Conclusion::from_matrix(&interrupted).is_interrupted);
}

#[test]
fn headline_of_interrupted_matrix_shows_its_cells() {
    for (name, headline) in [
        ("mismatch", "## Picklock: ✘ 1 cell is unexpected\n"),
        ("failed", "## Picklock: 1 cell failed to run\n"),
        ("expected", "## Picklock: the matrix was interrupted\n"),
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
        assert!(
            markdown.contains("The matrix was **interrupted**"),
            "{markdown}"
        );
    }
}

/// One seed showed a violation, and another one failed to run.
#[test]
fn violation_counts_even_if_another_seed_failed_to_run() {
    for (name, outcome) in [
        ("mismatch", CellOutcome::Unexpected),
        ("violated-free", CellOutcome::ViolatedNoExpectation),
        ("expected", CellOutcome::NotRun),
        ("inconclusive", CellOutcome::NotRun),
        ("held-free", CellOutcome::NotRun),
        ("any", CellOutcome::NotRun),
    ] {
        let mut record = matrix(&[name]);
        record.cells[0].runs = 2;
        record.cells[0].error = Some("seed 8: no server".into());
        assert_eq!(CellOutcome::from_cell(&record.cells[0]), outcome, "{name}");
        let is_violated = outcome != CellOutcome::NotRun;
        let conclusion = Conclusion::from_matrix(&record);
        let is_failure = conclusion.severity() == Severity::Failed;
        assert_eq!(is_failure, is_violated, "{name}: {conclusion:?}");
        let text = terminal::matrix(&record, 200).to_string();
        // Only the legend is dim.
        let legend = text.contains("\u{1b}[2m failed to run");
        assert_ne!(legend, is_violated, "{text}");
        let runs = GateRuns {
            matrix: record.clone(),
            paired: Vec::new(),
        };
        let gate = decide(&Rules::default(), None, &runs).severity();
        let differs = gate == Severity::Failed;
        assert_eq!(differs, is_violated, "{name}: {gate:?}");
        let input = ReportInput {
            matrix: record,
            ..ReportInput::default()
        };
        let junit = file(&input, "junit", "junit.xml");
        assert_eq!(junit.contains("<failure "), is_violated, "{junit}");
        let markdown = file(&input, "md", "report.md");
        assert_eq!(markdown.contains("### Unexpected results"), is_violated);
        assert!(markdown.contains("seed 8: no server"), "{markdown}");
    }
}

#[test]
fn violation_in_a_hidden_run_is_counted() {
    let mut hidden = every_kind().remove("held-free").unwrap();
    hidden.tally.get_mut(&Property::Claims).unwrap().unknown = 1;
    assert_eq!(
        CellOutcome::from_cell(&hidden),
        CellOutcome::InconclusiveNoExpectation
    );
    let input = ReportInput {
        matrix: MatrixRecord {
            cells: vec![hidden],
            ..MatrixRecord::default()
        },
        ..ReportInput::default()
    };
    let junit = file(&input, "junit", "junit.xml");
    assert!(junit.contains("<error "), "{junit}");
}

//! The default matrix on a terminal: every built-in lock in every scenario.
//!
//! `default-matrix.txt` has the results of `picklock matrix --backend sim`, because the runs take too long for a test:
//! the locks, a letter for each kind of result, and a row of letters for each scenario.

use std::collections::BTreeMap;

use picklock_scenarios::{BackendName, LockKind};
use picklock_verdicts::check::{Cause, Property, Status, Verdict};
use picklock_verdicts::record::{Cell, CellSetting, MATRIX_FORMAT, MatrixRecord, SkippedCell};

use crate::cell::{cell, violated};
use crate::matrix::at;

const RESULTS: &str = include_str!("default-matrix.txt");

/// Maximum number of lines of two screens.
const TWO_SCREENS: usize = 96;

/// Returns the verdicts that differ from a held property without fencing tokens.
fn verdicts(result: &str) -> Vec<(Property, Verdict)> {
    let parts = result.split(' ').filter_map(|part| part.split_once(':'));
    let verdict = |(property, what): (&str, &str)| {
        let verdict = match what {
            "+" => Verdict::held(),
            "-" => Verdict::not_applicable(),
            "?" => crate::inconclusive("too little evidence"),
            cause => violated(Cause::named(cause).unwrap(), &[]),
        };
        (Property::named(property).unwrap(), verdict)
    };
    parts.map(verdict).collect()
}

fn default_matrix() -> MatrixRecord {
    let mut lines = RESULTS.lines();
    let locks: Vec<&str> = lines.next().unwrap().split(' ').collect();
    let mut results: BTreeMap<char, &str> = BTreeMap::new();
    let mut record = MatrixRecord {
        format: MATRIX_FORMAT.into(),
        picklock: "0.1.0".into(),
        seed: 1,
        seeds: 1,
        reproduce: "picklock matrix --backend sim".into(),
        ..MatrixRecord::default()
    };
    for line in lines {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        let [family, scenario, letters] = words[..] else {
            panic!("{line}");
        };
        if family == "=" {
            results.insert(scenario.parse().unwrap(), letters);
            continue;
        }
        let family = serde_json::from_value(family.into()).unwrap();
        for (lock, letter) in locks.iter().zip(letters.chars()) {
            if letter == '.' {
                record.skipped.push(SkippedCell {
                    lock: (*lock).into(),
                    scenario: scenario.into(),
                    backend: BackendName::Sim,
                    reason: "needs 5 Redis nodes; this lock uses 1".into(),
                    family: Some(family),
                });
                continue;
            }
            let setting = CellSetting {
                family,
                lock_kind: LockKind::Mutex,
                measures: None,
                nodes: 1,
                replicas: 0,
                ttl_ms: Some(2_000),
                workers: Some(3),
            };
            let mut cell = cell(lock, scenario, &verdicts(results[&letter]));
            if results[&letter].ends_with("free") {
                cell.expected.clear();
            }
            record.cells.push(Cell {
                setting: Some(setting),
                ..cell
            });
        }
    }
    record
}

#[test]
fn default_matrix_fits_on_two_screens() {
    let record = default_matrix();
    let shown = [80, 120].map(|width| at(width, &record));
    for text in &shown {
        let lines = text.lines().count();
        assert!(lines <= TWO_SCREENS, "{lines} lines:\n{text}");
    }
    insta::assert_snapshot!(shown.join("---\n"));
}

#[test]
fn alike_rows_of_a_large_grid_share_one() {
    let record = default_matrix();
    let text = at(120, &record);
    // Nothing is lost: each scenario with a violation is in the grid, or is named below it.
    let is_violated = |cell: &&Cell| {
        let mut verdicts = cell.verdicts.values();
        verdicts.any(|verdict| verdict.status == Status::Violated)
    };
    for cell in record.cells.iter().filter(is_violated) {
        assert!(
            text.contains(&cell.scenario),
            "{} is missing",
            cell.scenario
        );
    }
    assert!(text.contains("Rows that are alike: "), "{text}");
    // In a small grid each row is shown.
    let mut few = record.clone();
    few.cells
        .retain(|cell| ["slow-section", "slow-waiter"].contains(&cell.scenario.as_str()));
    few.skipped.clear();
    let text = at(120, &few);
    assert!(!text.contains("Rows that are alike"), "{text}");
    assert!(text.contains("\n  slow-section ") && text.contains("\n  slow-waiter "));
}

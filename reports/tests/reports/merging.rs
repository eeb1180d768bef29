//! Joins parts of one matrix, and rejects parts that do not belong together.

use picklock_reports::matrix_parts::{MatrixMergeError, merge_matrices};
use picklock_verdicts::record::{Cell, MATRIX_FORMAT, MatrixRecord};

use crate::cell::cell;

fn part(cells: Vec<Cell>) -> MatrixRecord {
    MatrixRecord {
        format: MATRIX_FORMAT.into(),
        picklock: "0.1.0".into(),
        seed: 1,
        seeds: 1,
        elapsed_ms: Some(10),
        cells,
        ..MatrixRecord::default()
    }
}

fn saved_cell(lock: &str) -> Cell {
    Cell {
        run_dir: Some(format!("{lock}/calm")),
        ..cell(lock, "calm", &[])
    }
}

fn joined(one: MatrixRecord, other: MatrixRecord) -> Result<MatrixRecord, MatrixMergeError> {
    merge_matrices(vec![
        ("a/matrix.json".into(), one),
        ("b/matrix.json".into(), other),
    ])
}

#[test]
fn merged_matrix_names_each_run_by_its_file() {
    let other = MatrixRecord {
        elapsed_ms: Some(30),
        ..part(vec![saved_cell("redlock")])
    };
    let whole = joined(part(vec![saved_cell("fenced")]), other).unwrap();
    let cells: Vec<_> = whole
        .cells
        .iter()
        .map(|cell| cell.run_dir.as_deref())
        .collect();
    assert_eq!(cells, [Some("a/fenced/calm"), Some("b/redlock/calm")]);
    assert_eq!(
        (whole.elapsed_ms, whole.picklock.as_str()),
        (Some(30), "0.1.0")
    );
}

#[test]
fn overlapping_or_different_matrices_are_rejected() {
    let one = || part(vec![saved_cell("fenced")]);
    let other = || part(vec![saved_cell("redlock")]);
    let twice = joined(one(), one()).unwrap_err();
    assert_eq!(
        twice.to_string(),
        "fenced × calm × sim is in b/matrix.json and in an earlier file"
    );
    let newer = MatrixRecord {
        picklock: "0.2.0".into(),
        ..other()
    };
    let newer = joined(one(), newer).unwrap_err();
    assert_eq!(
        newer.to_string(),
        "b/matrix.json is not from the same matrix as a/matrix.json: its version of picklock is 0.2.0, not 0.1.0"
    );
    let seeded = MatrixRecord { seed: 2, ..other() };
    assert!(matches!(
        joined(one(), seeded),
        Err(MatrixMergeError::Foreign {
            what: "first seed",
            ..
        })
    ));
    let mut changed = other();
    changed.cells[0].scenario_hash = "1".into();
    assert!(matches!(
        joined(one(), changed),
        Err(MatrixMergeError::OtherScenario { scenario, .. }) if scenario == "calm"
    ));
}

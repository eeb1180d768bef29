//! Parts of one matrix, joined; what does not belong together is refused.

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

fn kept(lock: &str) -> Cell {
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
fn matrices_of_different_cells_become_one_and_name_each_run_by_its_file() {
    let other = MatrixRecord {
        elapsed_ms: Some(30),
        ..part(vec![kept("redlock")])
    };
    let whole = joined(part(vec![kept("fenced")]), other).unwrap();
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
fn matrices_that_overlap_or_differ_in_version_seed_or_scenario_are_refused() {
    let one = || part(vec![kept("fenced")]);
    let other = || part(vec![kept("redlock")]);
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
        "b/matrix.json is of another matrix than a/matrix.json: its version of picklock is 0.2.0, not 0.1.0"
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

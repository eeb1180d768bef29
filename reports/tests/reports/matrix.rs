//! A matrix as shown on a terminal.

use picklock_reports::documents::json;
use picklock_reports::terminal;
use picklock_verdicts::check::{Cause, Property};
use picklock_verdicts::record::{MATRIX_FORMAT, MatrixRecord, Mismatch, Similarity, SkippedCell};

use crate::cell::{cell, violated};

fn mismatch(property: Property, expected: &str, got: &str) -> Mismatch {
    Mismatch {
        property,
        expected: expected.parse().unwrap(),
        got: got.parse().unwrap(),
        runs: 1,
    }
}

/// Returns a matrix with an example of everything that it can show.
fn sample() -> MatrixRecord {
    let outlived = || {
        [
            (
                Property::Exclusion,
                violated(Cause::OutlivedLease, &["0.1 s  two clients held it"]),
            ),
            (Property::Resource, violated(Cause::OutlivedLease, &[])),
        ]
    };
    let mut stolen = outlived().to_vec();
    let story = [
        "1 s  client 0 got the lock",
        "2 s  \u{1b}[2Jclient 1 got it too",
    ];
    stolen.push((Property::Lease, violated(Cause::Race, &story)));
    let mut bad = cell("set-nx-px", "gc-pause", &stolen);
    bad.mismatches = vec![mismatch(Property::Lease, "held", "violated: race")];
    let mut unclear = cell(
        "redlock",
        "gc-pause",
        &[(Property::Lease, crate::inconclusive("too little"))],
    );
    unclear.mismatches = vec![mismatch(Property::Lease, "held", "unknown")];
    let mut failed = cell("exec:python3 a.py", "calm", &[]);
    failed.error = Some("seed 1: client 0 exited before it was ready\n  stderr".into());
    failed.verdicts.clear();
    let mut free = cell("exec:python3 a.py", "gc-pause", &outlived());
    free.expected.clear();
    MatrixRecord {
        format: MATRIX_FORMAT.into(),
        picklock: "0.1.0".into(),
        seed: 1,
        seeds: 1,
        processors: 2,
        jobs: 2,
        interrupted: false,
        elapsed_ms: None,
        ci_job: None,
        cells: vec![
            cell("set-nx-px", "calm", &[]),
            cell("redlock", "calm", &[]),
            failed,
            bad,
            unclear,
            free,
        ],
        skipped: vec![SkippedCell {
            lock: "exec:python3 a.py".into(),
            scenario: "failover".into(),
            backend: picklock_scenarios::BackendName::Sim,
            reason: "a program of your own runs in real time and cannot be simulated".into(),
            family: None,
        }],
        similarity: vec![Similarity {
            lock: "exec:python3 a.py".into(),
            backend: picklock_scenarios::BackendName::Sim,
            like: Some("setnx-expire".into()),
            differs: 0,
            compared: 3,
            standard: Some("set-nx-px".into()),
            worse: vec!["gc-pause".into()],
        }],
        reproduce: "picklock matrix".into(),
    }
}

/// Removes escape sequences, as `NO_COLOR` does.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, styled)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = styled.split_once('m').map_or("", |(_, after)| after);
    }
    plain + rest
}

#[track_caller]
pub fn at(width: usize, record: &MatrixRecord) -> String {
    let text = plain(&terminal::matrix(record, width));
    for line in text.lines() {
        assert!(line.chars().count() <= width, "wider than {width}: {line}");
    }
    text
}

#[test]
fn table_shows_every_kind_of_result() {
    insta::assert_snapshot!(at(100, &sample()));
}

#[test]
fn grid_at_80_and_120_columns() {
    insta::assert_snapshot!([80, 120].map(|width| at(width, &sample())).join("---\n"));
}

#[test]
fn narrow_terminal_shows_names_one_below_the_other() {
    // The names of nine locks do not fit next to each other.
    let mut record = sample();
    for number in 0..6 {
        for scenario in [
            "calm",
            "gc-pause",
            "late-grant",
            "lost-reply",
            "node-restart",
        ] {
            record
                .cells
                .push(cell(&format!("lock-{number}"), scenario, &[]));
        }
    }
    record.cells.sort_by(|a, b| a.scenario.cmp(&b.scenario));
    insta::assert_snapshot!(at(60, &record));
}

#[test]
fn many_runs_are_shown_with_rates() {
    let mut record = sample();
    record.seeds = 100;
    record.cells.retain(|cell| cell.error.is_none());
    for cell in &mut record.cells {
        cell.runs = 100;
        for tally in cell.tally.values_mut() {
            tally.held *= 100;
            tally.not_applicable *= 100;
            tally.unknown *= 40;
            tally.violated *= 37;
            tally.held += 100 - tally.held - tally.not_applicable - tally.unknown - tally.violated;
            tally.causes.values_mut().for_each(|times| *times = 37);
        }
        cell.mismatches.iter_mut().for_each(|one| one.runs = 37);
    }
    insta::assert_snapshot!(at(100, &record));
}

#[test]
fn colours_are_never_the_only_information() {
    let styled = terminal::matrix(&sample(), 100);
    assert!(styled.contains('\u{1b}'));
    let words = plain(&styled);
    assert!(!words.contains('\u{1b}') && words.contains("unexpected"));
    assert!(
        words.contains(r"\u{1b}[2Jclient 1"),
        "a story cannot clear the screen"
    );
}

#[test]
fn matrix_round_trips_and_skipped_may_be_missing() {
    let record = sample();
    let text = json(&record);
    assert!(text.starts_with("{\n  \"format\": \"picklock-matrix/1\""));
    let back: MatrixRecord = serde_json::from_str(&text).unwrap();
    assert_eq!(back, record);
    // Keys with default values may be missing.
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value.as_object_mut().unwrap().remove("skipped");
    let older: MatrixRecord = serde_json::from_value(value).unwrap();
    assert!(older.skipped.is_empty() && older.cells == record.cells);
}

#[test]
fn interrupted_matrix_without_cells_is_noted() {
    let record = MatrixRecord {
        interrupted: true,
        cells: Vec::new(),
        skipped: Vec::new(),
        ..sample()
    };
    assert!(at(60, &record).contains("interrupted"));
}

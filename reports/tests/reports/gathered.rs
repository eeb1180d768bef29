//! Runs and matrices that are read and merged.

use picklock_reports::combine::{from_run, merge};
use picklock_reports::documents::{Document, read};
use picklock_reports::formats::FORMATS;
use picklock_verdicts::check::{Cause, Property};
use picklock_verdicts::record::{Cell, FORMAT, MATRIX_FORMAT, Mismatch};

use crate::cells::matrix;
use crate::samples;

#[test]
fn run_becomes_a_matrix_with_one_cell() {
    let (record, history) = samples::gc_pause();
    let material = from_run(record.clone(), Some(history));
    let cell = &material.matrix.cells[0];
    assert_eq!(
        cell.run_dir.as_deref(),
        Some(material.evidence[0].run_dir.as_str())
    );
    assert_eq!(cell.verdicts, record.verdicts);
    let tally = cell
        .tally
        .values()
        .map(|tally| tally.held + tally.violated + tally.unknown + tally.not_applicable);
    assert!(tally.into_iter().all(|runs| runs == 1));
    assert!(cell.mismatches.is_empty() && cell.expected.is_empty());
}

#[test]
fn violation_without_a_cause_counts_as_undetermined() {
    let (mut record, history) = samples::gc_pause();
    let exclusion = record.verdicts.get_mut(&Property::Exclusion).unwrap();
    exclusion.cause = None;
    let material = from_run(record, Some(history));
    let tally = &material.matrix.cells[0].tally[&Property::Exclusion];
    assert_eq!((tally.violated, tally.causes[&Cause::Undetermined]), (1, 1));
}

#[test]
fn invisible_characters_in_records_are_escaped() {
    let (mut record, history) = samples::gc_pause();
    record.summary = "turned \u{202e}round".to_owned();
    let files = picklock_reports::document_files::files(&from_run(record, Some(history))).unwrap();
    for file in files {
        let text = String::from_utf8(file.bytes().to_owned()).unwrap();
        assert!(text.contains("turned \\u202eround"), "{}", file.name);
    }
}

#[test]
fn merged_matrices_keep_their_runs_apart() {
    let whole = merge(vec![("a".into(), matrix()), ("b".into(), matrix())]);
    assert_eq!(whole.matrix.cells.len(), 10);
    for cell in &whole.matrix.cells {
        let run_dir = cell.run_dir.as_ref().unwrap();
        let found = whole
            .evidence
            .iter()
            .filter(|evidence| evidence.run_dir == *run_dir);
        assert_eq!(found.count(), 1, "{run_dir}");
    }
}

#[test]
fn documents_are_recognised_by_their_format() {
    let (record, _) = samples::calm();
    let run = serde_json::to_string_pretty(&record).unwrap();
    assert!(matches!(read(&run), Ok(Document::Run(_))));
    let whole = serde_json::to_string_pretty(&matrix().matrix).unwrap();
    assert!(matches!(read(&whole), Ok(Document::Matrix(_))));
    let newer = run.replace(FORMAT, "picklock-run/2");
    let later = whole.replace(MATRIX_FORMAT, "picklock-matrix/99");
    let cases = [
        ("", "empty"),
        (&run[..run.len() / 2], "truncated"),
        ("#!/bin/sh", "not JSON"),
        ("{}", "no format key"),
        ("[1]", "no format key"),
        (r#"{"format":"jest/1"}"#, "jest/1"),
        (newer.as_str(), "newer"),
        (later.as_str(), "newer"),
        (r#"{"format":"picklock-run/1"}"#, "missing field"),
    ];
    for (text, part) in cases {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// Reports add up the counts of a document, so they must be consistent.
#[test]
fn inconsistent_matrix_is_rejected() {
    let error_after = |change: fn(&mut Cell)| {
        let mut record = matrix().matrix;
        change(&mut record.cells[0]);
        let text = serde_json::to_string(&record).unwrap();
        read(&text).unwrap_err().to_string()
    };
    let error = error_after(|cell| cell.runs = u64::MAX);
    assert!(error.contains("a count of 18446744073709551615"), "{error}");
    let error = error_after(|cell| cell.runs = 0);
    assert!(error.contains("more verdicts on"), "{error}");
    let error = error_after(|cell| cell.mismatches = vec![mismatch(cell.runs + 1)]);
    assert!(error.contains("unexpected results in"), "{error}");
}

fn mismatch(runs: u64) -> Mismatch {
    Mismatch {
        property: Property::Lease,
        expected: "held".parse().unwrap(),
        got: "violated".parse().unwrap(),
        runs,
    }
}

#[test]
fn every_format_has_a_row_in_its_page() {
    let page = include_str!("../../../docs/reports.md");
    for format in FORMATS {
        let row = format!("\n| `{}` |", format.name);
        assert!(page.contains(&row), "docs/reports.md: {}", format.name);
    }
}

#[test]
fn every_format_writes_unique_files_with_its_extension() {
    let mut names: Vec<String> = Vec::new();
    for format in FORMATS {
        let files = (format.write)(&matrix()).unwrap();
        assert!(!files.is_empty(), "{}", format.name);
        for file in files {
            assert!(
                file.name.ends_with(format.ending),
                "{}: {}",
                format.name,
                file.name
            );
            assert!(!file.bytes().is_empty(), "{}", file.name);
            names.push(file.name);
        }
    }
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
}

//! The documents of a run's directory, and the documents that combine many runs.

use picklock_reports::combine::from_run;
use picklock_reports::documents::{Document, read};
use picklock_reports::gate::Baseline;
use picklock_reports::report_input::ReportInput;
use picklock_reports::{command_log, documents, terminal};
use picklock_verdicts::record::{MatrixRecord, RunRecord, SearchRecord};

use crate::reports_of;

/// Reads `run.json`, `matrix.json`, `search.json`, `commands.jsonl` or a baseline.
///
/// # Panics
/// Panics if a run reads differently after it was written.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    match read(text) {
        Ok(Document::Run(record)) => run_of(*record),
        Ok(Document::Matrix(record)) => matrix_of(*record),
        Ok(Document::Search(record)) => search_of(*record),
        Err(error) => drop(error.to_string()),
    }
    match command_log::read(text) {
        Ok(log) => drop(log.cost([(0, 0), (1, u64::MAX)])),
        Err(error) => drop(error.to_string()),
    }
    match Baseline::parse(text) {
        Ok(baseline) => drop(baseline.to_text()),
        Err(error) => drop(error.to_string()),
    }
}

fn run_of(record: RunRecord) {
    let written = documents::json(&record);
    let Ok(Document::Run(again)) = read(&written) else {
        panic!("a record that was written can be read");
    };
    assert!(
        *again == record,
        "it reads differently after it was written"
    );
    reports_of::write_all(&from_run(record, None));
}

fn matrix_of(record: MatrixRecord) {
    for width in [1, 80, 300] {
        drop(terminal::matrix(&record, width));
    }
    drop(documents::json(&record));
    reports_of::write_all(&ReportInput {
        matrix: record,
        ..ReportInput::default()
    });
}

fn search_of(record: SearchRecord) {
    for width in [1, 80, 300] {
        drop(terminal::search(&record, width));
    }
    drop(documents::json(&record));
    reports_of::write_all(&ReportInput {
        searches: vec![record],
        ..ReportInput::default()
    });
}

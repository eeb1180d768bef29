//! Joins matrices: parts of one table that ran on several machines.

use std::collections::{BTreeMap, BTreeSet};

use picklock_verdicts::record::MatrixRecord;

use crate::combine;
use crate::gate::CellKey;
use crate::report_input::ReportInput;

/// The reason why matrices are not parts of one table.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the messages describe the variants, and the names their fields"
)]
pub enum MatrixMergeError {
    #[error("{file} is not from the same matrix as {first}: its {what} is {got}, not {expected}")]
    Foreign {
        first: String,
        file: String,
        what: &'static str,
        got: String,
        expected: String,
    },
    #[error(
        "the scenario `{scenario}` in {file} has the same name as in an earlier file, but other content"
    )]
    OtherScenario { scenario: String, file: String },
    #[error("{cell} is in {file} and in an earlier file")]
    Overlapping { cell: String, file: String },
}

/// Joins matrices, each with the name of its file. The result identifies each run by its file.
///
/// # Errors
/// Returns an error if the matrices differ in version, seed or scenarios, or if they overlap.
pub fn merge_matrices(
    records: Vec<(String, MatrixRecord)>,
) -> Result<MatrixRecord, MatrixMergeError> {
    let mut cells = BTreeSet::new();
    let mut scenarios = BTreeMap::new();
    let firsts = records.first().into_iter().cycle();
    for ((first, expected), (file, record)) in firsts.zip(&records) {
        let pairs = settings(expected).into_iter().zip(settings(record));
        for ((what, expected), (_, got)) in pairs {
            if expected != got {
                return Err(MatrixMergeError::Foreign {
                    first: first.clone(),
                    file: file.clone(),
                    what,
                    got,
                    expected,
                });
            }
        }
        for cell in &record.cells {
            let hash = &cell.scenario_hash;
            if *scenarios.entry(&cell.scenario).or_insert(hash) != hash {
                return Err(MatrixMergeError::OtherScenario {
                    scenario: cell.scenario.clone(),
                    file: file.clone(),
                });
            }
            let key = CellKey::new(cell);
            if !cells.insert(key.clone()) {
                return Err(MatrixMergeError::Overlapping {
                    cell: key.to_string(),
                    file: file.clone(),
                });
            }
        }
    }
    let longest_ms = records.iter().filter_map(|(_, one)| one.elapsed_ms).max();
    let parts = records.into_iter().map(|(file, matrix)| {
        let (directory, _) = file.rsplit_once('/').unwrap_or((".", ""));
        let matrix = ReportInput {
            matrix,
            ..ReportInput::default()
        };
        (directory.to_owned(), matrix)
    });
    Ok(MatrixRecord {
        elapsed_ms: longest_ms,
        ..combine::merge(parts.collect()).matrix
    })
}

/// Returns the settings that all parts of a matrix must share.
fn settings(record: &MatrixRecord) -> [(&'static str, String); 3] {
    [
        ("version of picklock", record.picklock.clone()),
        ("first seed", record.seed.to_string()),
        ("number of seeds", record.seeds.to_string()),
    ]
}

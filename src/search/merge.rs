//! `picklock merge`: joins the records of the shards of a search, or the parts of a matrix.

use picklock_harness::record::{MatrixRecord, SearchRecord};
use picklock_reports::documents::{self, Document};
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_reports::matrix::{Conclusion, Severity};
use picklock_reports::matrix_parts::merge_matrices;
use picklock_reports::search::merge;
use picklock_reports::terminal;

use super::cli::MergeArgs;
use super::report;
use crate::exit::{self, Failure};
use crate::print;
use crate::untrusted_file::{self, Links, MAX_DOCUMENT_LENGTH};

/// Joins the parts, and prints the report of the whole.
///
/// # Errors
/// Returns an error if a file cannot be read, is not a part, or belongs to another search or matrix.
pub fn run(args: &MergeArgs) -> Result<u8, Failure> {
    let mut searches: Vec<(String, SearchRecord)> = Vec::new();
    let mut matrices: Vec<(String, MatrixRecord)> = Vec::new();
    for path in &args.files {
        let file = path.display().to_string();
        let wrong = |problem: Inert| Failure::Usage(inert!("{}: {}", file, problem));
        let text = untrusted_file::read(path, MAX_DOCUMENT_LENGTH, Links::Followed)
            .map_err(|error| wrong(inert!("cannot read it: {}", error)))?;
        match documents::read(&text).map_err(|error| wrong(inert!("{}", error)))? {
            Document::Search(record) => searches.push((file, *record)),
            Document::Matrix(record) => matrices.push((file, *record)),
            Document::Run(_) => {
                let hint = Inert::literal(
                    "this is a single run; expected a shard of a search or a part of a matrix",
                );
                return Err(wrong(hint));
            }
        }
    }
    let usage = |error: &dyn std::error::Error| Failure::Usage(inert!("{}", error));
    match (searches.first(), matrices.first()) {
        (Some((search, _)), Some((matrix, _))) => Err(Failure::Usage(inert!(
            "{} is a shard of a search, and {} is a matrix: they cannot be merged",
            search,
            matrix
        ))),
        (None, Some(_)) => {
            let joined = merge_matrices(matrices).map_err(|error| usage(&error))?;
            Ok(print_matrix(&joined, args.json))
        }
        _ => {
            let joined = merge(searches).map_err(|error| usage(&error))?;
            report::print(&joined, args.json);
            Ok(report::code_of_joined(&joined))
        }
    }
}

fn print_matrix(joined: &MatrixRecord, json: bool) -> u8 {
    if json {
        print::document(&documents::matrix_json(joined));
    } else {
        print::out(&terminal::matrix(joined, print::width()));
    }
    // As for a search: an unexpected result counts even if a part was interrupted; without one, the whole is
    // inconclusive.
    match Conclusion::from_cells(&joined.cells).severity() {
        Severity::Failed => exit::VIOLATED,
        _ if joined.interrupted => exit::INCONCLUSIVE,
        severity => exit::from_severity(severity),
    }
}

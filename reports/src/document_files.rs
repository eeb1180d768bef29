//! Writes the JSON documents as files: the matrix, and the record of each saved run.

use crate::documents;
use crate::file_name::Names;
use crate::format::{File, Format, FormatError};
use crate::report_input::ReportInput;

/// `--format json`.
pub const FORMAT: Format = Format {
    name: "json",
    ending: ".json",
    about: "the JSON documents: matrix.json, and the record of each saved run under runs/",
    write: files,
};

/// Returns `matrix.json`, and a file under `runs/` for each saved run.
///
/// # Errors
///
/// Never fails: a record can always be serialized.
pub fn files(input: &ReportInput) -> Result<Vec<File>, FormatError> {
    let mut names = Names::default();
    let matrix = documents::matrix_json(&input.matrix);
    let mut files = vec![File::json("matrix.json", matrix)];
    for evidence in &input.evidence {
        let record = &evidence.record;
        let name = names.take(&[&record.lock.name, &record.scenario, record.backend.as_str()]);
        let document = documents::json(record);
        files.push(File::json(format!("runs/{name}.json"), document));
    }
    Ok(files)
}

//! The JSON documents as files: the matrix, and the record of every kept run.

use serde::Serialize;

use crate::documents;
use crate::file_name::Names;
use crate::formats::{File, Format, FormatError};
use crate::report_input::ReportInput;

/// `--format json`.
pub const FORMAT: Format = Format {
    name: "json",
    ending: ".json",
    about: "the JSON documents: matrix.json, and the record of each kept run under runs/",
    write: files,
};

/// `matrix.json`, and a file under `runs/` for each kept run.
///
/// # Errors
/// None: the documents are made of text, numbers, and maps keyed by words.
pub fn files(input: &ReportInput) -> Result<Vec<File>, FormatError> {
    let mut names = Names::default();
    let mut files = vec![File {
        name: "matrix.json".to_owned(),
        bytes: format!("{}\n", documents::matrix_json(&input.matrix)).into_bytes(),
    }];
    for evidence in &input.evidence {
        let record = &evidence.record;
        let name = names.take(&[&record.lock.name, &record.scenario, record.backend.word()]);
        files.push(File {
            name: format!("runs/{name}.json"),
            bytes: document(record)?,
        });
    }
    Ok(files)
}

fn document(of: &impl Serialize) -> Result<Vec<u8>, FormatError> {
    let mut bytes = serde_json::to_vec_pretty(of).map_err(|error| FormatError::Refused {
        format: "json",
        reason: error.to_string(),
    })?;
    bytes.push(b'\n');
    Ok(bytes)
}

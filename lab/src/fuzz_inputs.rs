//! Converts fuzzing inputs between the two places that hold them: one JSONL file per target in the repository, and
//! one file per input in the folders that libFuzzer uses.

use std::fs;
use std::path::{Path, PathBuf};

use picklock_fuzz_targets::TARGETS;
use picklock_fuzz_targets::corpus::{self, CorpusError, Input};

/// Why an operation on the fuzzing inputs failed.
#[derive(Debug, thiserror::Error)]
pub enum InputsError {
    /// No target has that name.
    #[error("no such target: {name}; there are {}", names())]
    UnknownTarget {
        /// The requested name.
        name: String,
    },
    /// A file or a folder could not be read or written.
    #[error("{}: {reason}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        reason: std::io::Error,
    },
    /// The target's corpus file is damaged.
    #[error("{}: {reason}", path.display())]
    Corpus {
        /// The corpus file.
        path: PathBuf,
        /// The damaged line, and what is wrong with it.
        reason: CorpusError,
    },
    /// The inputs cannot be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

fn names() -> String {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    names.join(", ")
}

/// Writes each input to a separate file, named after its line number and starting at 0001.
///
/// # Errors
/// Returns an [`InputsError`] if the target is unknown or a file cannot be read or written.
pub fn unpack(corpora: &Path, target: &str, into: &Path) -> Result<(), InputsError> {
    let (_, inputs) = inputs(corpora, target)?;
    at(into, fs::create_dir_all(into))?;
    for (index, input) in inputs.iter().enumerate() {
        let path = into.join(format!("{:04}", index + 1));
        at(&path, fs::write(&path, &input.bytes))?;
    }
    Ok(())
}

/// Replaces a target's inputs with the files of a folder. Saved inputs, which once broke something, stay and are not
/// added twice. Returns the new number of inputs.
///
/// # Errors
/// Returns an [`InputsError`] if the target is unknown or a file cannot be read or written.
pub fn pack(corpora: &Path, target: &str, from: &Path) -> Result<usize, InputsError> {
    let (file, mut inputs) = inputs(corpora, target)?;
    inputs.retain(|input| input.kept.is_some());
    for entry in at(from, fs::read_dir(from))? {
        let path = at(from, entry)?.path();
        let bytes = at(&path, fs::read(&path))?;
        if inputs.iter().all(|input| input.bytes != bytes) {
            inputs.push(Input { kept: None, bytes });
        }
    }
    let count = inputs.len();
    at(&file, fs::write(&file, corpus::write(inputs)?))?;
    Ok(count)
}

/// Saves an input that broke a target, under a descriptive name.
///
/// # Errors
/// Returns an [`InputsError`] if the target is unknown or a file cannot be read or written.
pub fn keep(corpora: &Path, target: &str, name: &str, input: &Path) -> Result<(), InputsError> {
    let (file, mut inputs) = inputs(corpora, target)?;
    inputs.push(Input {
        kept: Some(name.to_owned()),
        bytes: at(input, fs::read(input))?,
    });
    at(&file, fs::write(&file, corpus::write(inputs)?))
}

/// Returns the path of a target's corpus file and the inputs in it.
fn inputs(corpora: &Path, target: &str) -> Result<(PathBuf, Vec<Input>), InputsError> {
    if !TARGETS.iter().any(|known| known.name == target) {
        return Err(InputsError::UnknownTarget {
            name: target.to_owned(),
        });
    }
    let path = corpora.join(format!("{target}.jsonl"));
    let text = at(&path, fs::read_to_string(&path))?;
    match corpus::read(&text) {
        Ok(inputs) => Ok((path, inputs)),
        Err(reason) => Err(InputsError::Corpus { path, reason }),
    }
}

fn at<T>(path: &Path, done: std::io::Result<T>) -> Result<T, InputsError> {
    done.map_err(|reason| InputsError::Io {
        path: path.to_owned(),
        reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unpacking and packing again must reproduce the file, so that no input is lost.
    #[test]
    fn packed_inputs_are_those_that_were_unpacked() {
        let home = tempfile::tempdir().unwrap();
        let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
        let file = home.path().join("resp_replies.jsonl");
        fs::copy(corpora.join("resp_replies.jsonl"), &file).unwrap();
        let before = fs::read_to_string(&file).unwrap();
        let folder = home.path().join("inputs");
        unpack(home.path(), "resp_replies", &folder).unwrap();
        assert!(corpus::read(&before).unwrap()[0].kept.is_some());
        let count = pack(home.path(), "resp_replies", &folder).unwrap();
        assert_eq!(count, before.lines().count());
        assert_eq!(fs::read_to_string(&file).unwrap(), before);
        let found = home.path().join("found");
        fs::write(&found, b"\xff").unwrap();
        keep(home.path(), "resp_replies", "aaa", &found).unwrap();
        let first = fs::read_to_string(&file).unwrap();
        let first = first.lines().next().unwrap().to_owned();
        assert_eq!(first, r#"{"kept":"aaa","base64":"/w=="}"#);
    }

    #[test]
    fn unknown_target_is_refused_with_the_known_ones() {
        let refused = unpack(Path::new("."), "scenarios", Path::new(".")).unwrap_err();
        let said = refused.to_string();
        assert!(said.starts_with("no such target: scenarios; there are adapter_protocol,"));
    }
}

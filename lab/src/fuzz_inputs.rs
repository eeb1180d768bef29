//! The inputs for fuzzing: one file for each target in the repository, and one file for each input where
//! libFuzzer reads and writes them.

use std::fs;
use std::path::{Path, PathBuf};

use picklock_fuzz_targets::TARGETS;
use picklock_fuzz_targets::corpus::{self, CorpusError, Input};

/// Why inputs cannot be moved.
#[derive(Debug, thiserror::Error)]
pub enum InputsError {
    /// No target has that name.
    #[error("no such target: {name}; there are {}", names())]
    UnknownTarget {
        /// What was asked for.
        name: String,
    },
    /// A file or a folder cannot be read or written.
    #[error("{}: {reason}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// The system's message.
        reason: std::io::Error,
    },
    /// The file of the target is damaged.
    #[error("{}: {reason}", path.display())]
    Corpus {
        /// The file.
        path: PathBuf,
        /// Where, and what is wrong.
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

/// Writes each input into a file of its own, which has the number of its line, from 0001.
///
/// # Errors
/// See [`InputsError`].
pub fn unpack(corpora: &Path, target: &str, into: &Path) -> Result<(), InputsError> {
    let (_, inputs) = inputs(corpora, target)?;
    at(into, fs::create_dir_all(into))?;
    for (index, input) in inputs.iter().enumerate() {
        let path = into.join(format!("{:04}", index + 1));
        at(&path, fs::write(&path, &input.bytes))?;
    }
    Ok(())
}

/// Replaces the inputs of a target by the files of a folder. Those that once broke something stay, and are
/// not added a second time. Returns how many inputs the target has then.
///
/// # Errors
/// See [`InputsError`].
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

/// Adds an input that has broken a target, under a name that says what it is.
///
/// # Errors
/// See [`InputsError`].
pub fn keep(corpora: &Path, target: &str, name: &str, input: &Path) -> Result<(), InputsError> {
    let (file, mut inputs) = inputs(corpora, target)?;
    inputs.push(Input {
        kept: Some(name.to_owned()),
        bytes: at(input, fs::read(input))?,
    });
    at(&file, fs::write(&file, corpus::write(inputs)?))
}

/// The file of a target, and what it has.
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

    /// What is unpacked and packed again is the same file: nothing is lost on the way to libFuzzer.
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

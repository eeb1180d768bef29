//! The files of inputs.

use std::fs;
use std::path::{Path, PathBuf};

use picklock_fuzz_targets::corpus::{self, Input};

/// `lab/fuzz/`.
pub fn home() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("it lies in lab/fuzz/").to_owned()
}

/// The inputs of a target, by their lines: those that once broke something, and those that reach
/// different code.
pub fn of(target: &str) -> Vec<Input> {
    let path = home().join("corpus").join(format!("{target}.jsonl"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    corpus::read(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// The names of the files, without their ending.
pub fn files() -> Vec<String> {
    let entries = fs::read_dir(home().join("corpus")).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("the entry can be read").path());
    let name = |path: PathBuf| path.file_stem()?.to_str().map(str::to_owned);
    let mut names: Vec<String> = paths.filter_map(name).collect();
    names.sort();
    names
}

//! The kept inputs.

use std::fs;
use std::path::{Path, PathBuf};

/// `fuzz/`.
pub fn home() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("it lies in fuzz/").to_owned()
}

/// The inputs of a target: those that reach different code, and those that once broke something.
pub fn of(target: &str) -> Vec<PathBuf> {
    let folders = ["corpus", "kept"].map(|kind| home().join(kind).join(target));
    let mut files: Vec<PathBuf> = folders.iter().flat_map(|folder| within(folder)).collect();
    files.sort();
    files
}

/// The files of a folder, which need not be there.
fn within(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .map(|entry| entry.expect("the entry can be read").path())
        .collect()
}

/// The names of the folders of a kind, `corpus` or `kept`.
pub fn folders(kind: &str) -> Vec<String> {
    let folder = home().join(kind);
    let name = |path: PathBuf| Some(path.file_name()?.to_str()?.to_owned());
    within(&folder).into_iter().filter_map(name).collect()
}

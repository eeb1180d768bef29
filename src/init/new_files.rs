//! Files that `picklock init` is about to write, or has written.

use std::path::{Path, PathBuf};

use picklock_reports::escape::quoted;
use picklock_reports::inert;

use crate::exit::Failure;

/// Checks that no file exists yet, because half an adapter among the user's own files would be hard to clean up.
///
/// # Errors
/// Returns an error that names the files that exist, or if the folder is a file.
pub fn refuse_to_overwrite(directory: &Path, files: &[PathBuf], help: &str) -> Result<(), Failure> {
    if directory.exists() && !directory.is_dir() {
        return Err(Failure::Usage(inert!(
            "{} is not a folder",
            directory.display()
        )));
    }
    // A broken symbolic link counts as an existing file.
    let there = files.iter().filter(|path| path.symlink_metadata().is_ok());
    let there: Vec<String> = there.map(|path| shown(path, directory)).collect();
    if there.is_empty() {
        return Ok(());
    }
    Err(Failure::Usage(inert!(
        "{} has {} already; nothing was written\n  = help: {}",
        directory.display(),
        there.join(", "),
        help
    )))
}

/// Returns a path relative to the new folder, or the full path if it is elsewhere.
fn shown(path: &Path, directory: &Path) -> String {
    path.strip_prefix(directory)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Lists the written files and the next steps.
pub fn next_lines(directory: &Path, written: &[&Path], steps: &[String]) -> String {
    let mut text = format!("wrote in {}:\n", directory.display());
    for path in written {
        text.push_str(&format!("  {}\n", shown(path, directory)));
    }
    text.push_str("\nnext:\n");
    if directory != Path::new(".") {
        let directory = directory.to_string_lossy();
        text.push_str(&format!("  cd {}\n", quoted(&directory)));
    }
    for step in steps {
        text.push_str(&format!("  {step}\n"));
    }
    text
}

//! Finds the saved run that a path refers to: its directory, or any file in it.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use picklock_harness::history::{History, read_history};
use picklock_reports::inert;
use picklock_reports::inert::Inert;

use crate::exit::Failure;
use crate::untrusted_file::{self, Links, MAX_HISTORY_LENGTH};

/// File name of a run's history.
pub const HISTORY: &str = "history.jsonl";

/// File name of a run's command log.
pub const COMMAND_LOG: &str = "commands.jsonl";

/// The files of a run directory, except the logs of the servers and the workers.
pub const FILES: [&str; 6] = [
    "run.json",
    HISTORY,
    COMMAND_LOG,
    "commands.jsonl.gz",
    "key-history.jsonl",
    picklock_reports::repro::FILE,
];

/// Maximum number of runs of a directory that a message lists.
const MAX_NAMED: usize = 3;

/// Returns the directory of the run that a path refers to, or `None` if the path is another file.
///
/// # Errors
/// Returns an error if the path does not exist, or if the directory is not a run. The error lists the runs below that
/// directory.
pub fn directory(path: &Path) -> Result<Option<PathBuf>, Failure> {
    let wrong = |text: Inert| Err(Failure::Usage(inert!("{}: {}", path.display(), text)));
    if !path.exists() {
        return wrong(Inert::literal("no such file or directory"));
    }
    if !path.is_dir() {
        let name = path.file_name().and_then(|name| name.to_str());
        let is_of_run = name.is_some_and(|name| FILES.contains(&name));
        return Ok(is_of_run.then(|| parent(path).to_owned()));
    }
    if FILES.iter().any(|file| path.join(file).exists()) {
        return Ok(Some(path.to_owned()));
    }
    let below = below(path);
    if below.is_empty() {
        return wrong(Inert::literal(
            "it contains no run: name a directory written by `--out`",
        ));
    }
    if let [only] = &below[..] {
        return Ok(Some(only.clone()));
    }
    let named = below.iter().take(MAX_NAMED);
    let named: Vec<String> = named.map(|dir| format!("\n  {}", dir.display())).collect();
    let more = match below.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    wrong(inert!(
        "it contains several runs, each in its own directory; name one:{}{}",
        Inert::lines(&named.concat()),
        Inert::lines(&more)
    ))
}

/// Returns the directory that contains a file.
pub fn parent(file: &Path) -> &Path {
    let parent = file.parent().filter(|parent| *parent != Path::new(""));
    parent.unwrap_or(Path::new("."))
}

/// Returns the paths that a report of this path covers. A file next to a record refers to the record, and a directory
/// with no run, matrix or search refers to the runs below it.
pub fn report_paths(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().and_then(|name| name.to_str());
    let is_next_to_record = name.is_some_and(|name| FILES.contains(&name) && name != "run.json");
    if path.is_file() && is_next_to_record {
        return vec![parent(path).to_owned()];
    }
    let has = |file: &str| path.join(file).exists();
    if path.is_dir()
        && !has("matrix.json")
        && !has("search.json")
        && !FILES.iter().any(|file| has(file))
    {
        let below = below(path);
        if !below.is_empty() {
            return below;
        }
    }
    vec![path.to_owned()]
}

pub fn history(path: &Path) -> Result<History, Failure> {
    let name = path.display();
    let file = untrusted_file::open(path, MAX_HISTORY_LENGTH, Links::Refused)
        .map_err(|error| Failure::Usage(inert!("{}: cannot open: {}", name, error)))?;
    read_history(BufReader::new(file))
        .map_err(|error| Failure::Usage(inert!("{}: {}", name, error)))
}

/// Returns the run directories of a matrix directory: `LOCK/SCENARIO/BACKEND`, or one level less.
fn below(path: &Path) -> Vec<PathBuf> {
    let inside = |dir: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let mut dirs: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        dirs.retain(|dir| dir.is_dir() && !dir.is_symlink());
        dirs.sort();
        dirs
    };
    let mut level = inside(path);
    for _ in 0..4 {
        let runs: Vec<PathBuf> = level
            .iter()
            .filter(|dir| dir.join(HISTORY).exists())
            .cloned()
            .collect();
        if !runs.is_empty() {
            return runs;
        }
        level = level.iter().flat_map(|dir| inside(dir)).collect();
    }
    Vec::new()
}

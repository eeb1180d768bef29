//! Reads the input of a report: directories of runs, matrices and searches, and their documents.

use std::fs;
use std::io::{self, BufReader};
use std::path::{Component, Path, PathBuf};

use picklock_harness::check::judge;
use picklock_harness::history::{EventKind, History, read_history};
use picklock_harness::record::{MatrixRecord, RunRecord, SearchRecord};
use picklock_reports::cell_status;
use picklock_reports::combine::{from_run, merge};
use picklock_reports::command_log::{self, CommandLog};
use picklock_reports::documents::{Document, read};
use picklock_reports::escape::quoted;
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_reports::report_input::{Evidence, ReportInput};
use picklock_reports::repro;

use crate::exit::Failure;
use crate::saved_run::{self, COMMAND_LOG, HISTORY};
use crate::untrusted_file::{self, Links, MAX_DOCUMENT_LENGTH, MAX_HISTORY_LENGTH};

const RUN: &str = "run.json";
const MATRIX: &str = "matrix.json";
const SEARCH: &str = "search.json";

/// Reads all paths into one input. Paths that cannot be read are omitted, and listed in `skipped`.
///
/// # Errors
/// Returns an error if nothing could be read, with the reason for each path.
pub fn load(paths: &[PathBuf]) -> Result<ReportInput, Failure> {
    let mut parts: Vec<(String, ReportInput)> = Vec::new();
    let mut refused: Vec<String> = Vec::new();
    for path in paths.iter().flat_map(|path| saved_run::report_paths(path)) {
        let dir = if path.is_dir() {
            path.as_path()
        } else {
            saved_run::parent(&path)
        };
        match load_path(&path) {
            Ok(input) => parts.push((dir.display().to_string(), input)),
            Err(reason) => refused.push(format!("{}: {reason}", path.display())),
        }
    }
    if parts.is_empty() {
        let lines = refused.iter().map(|reason| inert!("{}\n", reason));
        let lines: Inert = lines.collect();
        return Err(Failure::Usage(Inert::lines(lines.as_str().trim_end())));
    }
    let mut input = merge(parts);
    input.skipped.splice(0..0, refused);
    Ok(input)
}

/// Reads a directory or a document.
fn load_path(path: &Path) -> Result<ReportInput, String> {
    let kind = fs::metadata(path).map_err(|error| unread(&error))?;
    if !kind.is_dir() {
        return document(path, saved_run::parent(path));
    }
    let inside = [MATRIX, SEARCH, RUN].map(|name| path.join(name));
    match inside.iter().find(|file| file.exists()) {
        Some(file) => document(file, path).map_err(|reason| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            format!("{name}: {reason}")
        }),
        None if path.join(HISTORY).exists() => Err(format!(
            "it contains {HISTORY} but no {RUN}: the run did not finish. Judge the history \
             with `picklock check {}`",
            quoted(&path.display().to_string())
        )),
        None => Err(format!(
            "it contains neither {RUN} nor {MATRIX}: name a directory written by `--out`"
        )),
    }
}

fn unread(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::InvalidData => "not text, so not a picklock document".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

fn parsed(file: &Path) -> Result<Document, String> {
    let text = untrusted_file::read(file, MAX_DOCUMENT_LENGTH, Links::Refused);
    let text = text.map_err(|error| unread(&error))?;
    read(&text).map_err(|error| error.to_string())
}

/// Reads a document, and the files next to it.
fn document(file: &Path, dir: &Path) -> Result<ReportInput, String> {
    match parsed(file)? {
        Document::Run(record) => {
            let mut skipped = Vec::new();
            let evidence = evidence_of_run(*record, dir, ".", &mut skipped);
            let input = from_evidence(evidence);
            Ok(ReportInput { skipped, ..input })
        }
        Document::Matrix(matrix) => Ok(from_matrix(*matrix, dir)),
        Document::Search(search) => Ok(from_search(*search, dir)),
    }
}

/// Reads a search, and those runs of its counterexamples that are next to it.
fn from_search(search: SearchRecord, dir: &Path) -> ReportInput {
    let mut skipped = Vec::new();
    let repros = search
        .counterexamples
        .iter()
        .filter_map(|find| find.repro.as_deref());
    let names = repros.filter_map(|repro| Path::new(repro).parent()?.file_name()?.to_str());
    let runs = names.filter_map(|name| {
        let is_saved = dir.join(name).join(RUN).exists();
        let evidence = is_saved.then(|| evidence(dir, name, &mut skipped))?;
        match evidence {
            Ok(evidence) => Some((name.to_owned(), from_evidence(evidence))),
            Err(reason) => {
                skipped.push(format!("the run of the counterexample in {name}: {reason}"));
                None
            }
        }
    });
    let runs: Vec<(String, ReportInput)> = runs.collect();
    let mut input = merge(runs);
    input.matrix.picklock.clone_from(&search.picklock);
    input.matrix.seed = search.seed;
    input.matrix.reproduce.clone_from(&search.reproduce);
    input.searches.push(search);
    input.skipped.extend(skipped);
    input
}

/// Reads a file next to a record, or returns `None` if it does not exist. Lists a file that cannot be opened or read in
/// `skipped`.
fn read_next_to<F, T>(
    path: &Path,
    opened: io::Result<F>,
    skipped: &mut Vec<String>,
    read: impl FnOnce(F) -> Result<T, String>,
) -> Option<T> {
    let reason = match opened.map(read) {
        Ok(Ok(found)) => return Some(found),
        Ok(Err(reason)) => reason,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => unread(&error),
    };
    skipped.push(format!("{}: {reason}", path.display()));
    None
}

/// Reads the history of a record. Skips a history that belongs to a different run.
fn history(dir: &Path, record: &RunRecord, skipped: &mut Vec<String>) -> Option<History> {
    let path = dir.join(HISTORY);
    let file = untrusted_file::open(&path, MAX_HISTORY_LENGTH, Links::Refused);
    read_next_to(&path, file, skipped, |file| {
        match read_history(BufReader::new(file)) {
            Ok(history) if history.header.seed == record.seed => Ok(history),
            Ok(_) => Err("its seed differs from that of the run next to it".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    })
}

/// Reads the command log next to a record.
fn command_log(dir: &Path, skipped: &mut Vec<String>) -> Option<CommandLog> {
    let path = dir.join(COMMAND_LOG);
    let text = untrusted_file::read_plain_or_gzip(&path, MAX_DOCUMENT_LENGTH, Links::Refused);
    read_next_to(&path, text, skipped, |text| {
        command_log::read(&text).map_err(|error| error.to_string())
    })
}

fn from_matrix(matrix: MatrixRecord, dir: &Path) -> ReportInput {
    let mut input = ReportInput {
        matrix,
        ..ReportInput::default()
    };
    for cell in &input.matrix.cells {
        let Some(run_dir) = &cell.run_dir else {
            continue;
        };
        match evidence(dir, run_dir, &mut input.skipped) {
            Ok(found) => input.evidence.push(found),
            Err(reason) => {
                let cell = cell_status::title(cell);
                input
                    .skipped
                    .push(format!("the run of {cell} in {run_dir}: {reason}"));
            }
        }
    }
    input
}

fn evidence(dir: &Path, run_dir: &str, skipped: &mut Vec<String>) -> Result<Evidence, String> {
    let inside = Path::new(run_dir);
    // A foreign matrix must not make Picklock read files outside its directory.
    let stays = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !inside.components().all(stays) {
        return Err("it is outside the matrix directory".to_owned());
    }
    let steps: Vec<&Path> = inside.ancestors().collect();
    let is_link = |step: &&Path| dir.join(step).is_symlink();
    // The user named the directory itself, so it may be a link.
    if steps.iter().rev().skip(1).any(is_link) {
        return Err("a symbolic link is on the way to it".to_owned());
    }
    let dir = dir.join(inside);
    match parsed(&dir.join(RUN))? {
        Document::Run(record) => Ok(evidence_of_run(*record, &dir, run_dir, skipped)),
        Document::Matrix(_) | Document::Search(_) => Err("it contains no run".to_owned()),
    }
}

/// Reads the files next to a record.
fn evidence_of_run(
    mut record: RunRecord,
    dir: &Path,
    run_dir: &str,
    skipped: &mut Vec<String>,
) -> Evidence {
    let history = history(dir, &record, skipped);
    if let Some(history) = history.as_ref().filter(|history| !has_end(history)) {
        // Judged again, as in `picklock check`, because the verdicts of the record need not match the history.
        record.verdicts = judge(history);
        skipped.push(format!(
            "{}: its end is missing, so the verdicts are those of the rest",
            dir.join(HISTORY).display()
        ));
    }
    Evidence {
        run_dir: run_dir.to_owned(),
        history,
        command_log: command_log(dir, skipped),
        has_repro: dir.join(repro::FILE).exists(),
        record,
    }
}

fn has_end(history: &History) -> bool {
    let mut events = history.events.iter().rev();
    events.any(|event| matches!(event.what, EventKind::End { .. }))
}

/// Creates the input for a single run.
fn from_evidence(evidence: Evidence) -> ReportInput {
    let mut input = from_run(evidence.record, evidence.history);
    for one in &mut input.evidence {
        one.command_log.clone_from(&evidence.command_log);
        one.has_repro = evidence.has_repro;
    }
    input
}

//! The directory of a matrix: its document, and the shown run of each cell.
//!
//! ```text
//! DIR/matrix.json the document; marks the directory as that of a matrix DIR/redlock/gc-pause/sim/run.json … the run
//! that is shown DIR/redlock/gc-pause/sim/cell.json the cell, written last: a directory with it is complete
//! DIR/redlock/gc-pause/.sim-seed-7/ a run that is not finished, or not yet chosen
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use picklock_harness::external_servers::ExternalServers;
use picklock_harness::history::Declarations;
use picklock_harness::record::{Cell, MATRIX_FORMAT, MatrixRecord, ServersTable};
use picklock_harness::spec::LockSpec;
use picklock_reports::documents;
use picklock_reports::file_name::slug;
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_scenarios::BackendName;
use serde::{Deserialize, Serialize};

use super::request::MatrixRequest;
use super::selection::Task;
use crate::exit::Failure;
use crate::output_directory::{HandedDirectory, OutputDirectory};
use crate::reproduce_command::ReproduceCommand;
use crate::run_directory::{RunDirectory, is_of_run};
use crate::untrusted_file::{self, Links, MAX_DOCUMENT_LENGTH};

/// Format and version of a stored cell.
const CELL_FORMAT: &str = "picklock-cell/1";

#[derive(Debug, Clone)]
pub struct MatrixDirectory {
    /// The directory, which this process has locked.
    output: OutputDirectory,
}

/// A finished cell, with the conditions under which it can replace a new run.
#[derive(Debug, Serialize, Deserialize)]
struct StoredCell {
    format: String,
    key: RunConditions,
    /// Absent for a built-in lock, which its name identifies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program: Option<Program>,
    cell: Cell,
}

/// The command of the user's program, and its number of servers. A configuration table may later define something else
/// under the same name.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Program {
    argv: Vec<String>,
    /// The working directory, or `None` for Picklock's own.
    directory: Option<PathBuf>,
    environment: BTreeMap<String, String>,
    nodes: usize,
    replicas: usize,
    #[serde(default)]
    needs_every_node: bool,
    #[serde(default)]
    renews: bool,
    #[serde(flatten)]
    declares: Declarations,
    /// When the program and the files that its command line names were last changed, and their sizes.
    #[serde(default)]
    files: Vec<FileState>,
}

/// A file that a command line names. If the file changes, the program counts as a different one.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileState {
    path: PathBuf,
    length: u64,
    changed_ns: u64,
}

impl FileState {
    /// Returns the state of the file that a word names, or `None` if it names no file. A program name without a folder
    /// is looked up on `PATH`. A word may also end in a path, such as `--config=FILE`.
    fn named_by(word: &str, folder: Option<&Path>) -> Option<FileState> {
        let value = word.rsplit_once('=').map(|(_, value)| value);
        [Some(word), value].into_iter().flatten().find_map(|name| {
            let here = folder.map_or(PathBuf::from(name), |folder| folder.join(name));
            let search = std::env::var_os("PATH").unwrap_or_default();
            let is_bare = !name.contains('/');
            let on_path = std::env::split_paths(&search).map(|folder| folder.join(name));
            let places = std::iter::once(here).chain(on_path.filter(|_| is_bare));
            places
                .filter(|path| path.is_file())
                .find_map(FileState::read)
        })
    }

    fn read(path: PathBuf) -> Option<FileState> {
        let file = path.metadata().ok()?;
        let changed = file.modified().ok()?;
        let since = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
        Some(FileState {
            path,
            length: file.len(),
            changed_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
        })
    }
}

impl Program {
    /// Returns the program of the lock, or `None` if the lock is built in.
    fn from_lock(lock: &LockSpec) -> Option<Program> {
        lock.command.as_ref().map(|command| Program {
            argv: command.argv.clone(),
            directory: command.directory.clone(),
            environment: command.environment.clone(),
            nodes: lock.nodes,
            replicas: lock.replicas,
            needs_every_node: lock.needs_every_node,
            renews: lock.renews,
            declares: lock.declares,
            files: (command.argv.iter())
                .filter_map(|word| FileState::named_by(word, command.directory.as_deref()))
                .collect(),
        })
    }
}

/// The conditions that determine the runs of a cell, apart from the cell itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunConditions {
    picklock: String,
    seed: u64,
    seeds: u64,
    #[serde(default)]
    server: Option<String>,
    image: Option<String>,
    redis_server: Option<String>,
    #[serde(default)]
    external: Option<ServersTable>,
}

impl RunConditions {
    /// Returns the conditions for the runs of this request.
    pub fn from_request(request: &MatrixRequest) -> RunConditions {
        let servers = &request.servers;
        let server = servers.redis_server.as_ref();
        RunConditions {
            picklock: env!("CARGO_PKG_VERSION").to_owned(),
            seed: request.seed,
            seeds: request.seeds,
            server: servers.named.map(|server| server.name().to_owned()),
            image: servers.image.clone(),
            redis_server: server.map(|path| path.display().to_string()),
            external: servers.external.as_ref().map(ExternalServers::table),
        }
    }
}

/// State of a cell in the directory.
pub enum StoredState {
    /// The cell is stored and valid.
    MatrixResult(Box<Cell>),
    /// The cell is stored, but it is outdated for this reason and must run again.
    Outdated(&'static str),
    /// The cell is not stored.
    Missing,
}

/// Reads the document of a directory that may come from another user.
fn document_of(path: &Path) -> std::io::Result<String> {
    let file = path.join("matrix.json");
    untrusted_file::read(&file, MAX_DOCUMENT_LENGTH, Links::Refused)
}

impl MatrixDirectory {
    /// Opens a directory for a matrix: a new directory, or one that already contains a matrix.
    ///
    /// # Errors
    /// Returns an error if it contains something else, or cannot be created.
    pub fn open(path: &Path, empty: &MatrixRecord) -> Result<MatrixDirectory, Failure> {
        let wrong = |text: Inert| Failure::Usage(inert!("--out {}: {}", path.display(), text));
        let directory = MatrixDirectory {
            output: OutputDirectory::private(path),
        };
        let made = directory.output.make();
        made.map_err(|error| wrong(inert!("cannot create the directory: {}", error)))?;
        let locked = directory.output.lock();
        locked.map_err(|error| wrong(inert!("{}", error)))?;
        match document_of(path) {
            Ok(text) => {
                let document: Option<serde_json::Value> = serde_json::from_str(&text).ok();
                let format = document.as_ref().and_then(|d| d["format"].as_str());
                if format != Some(MATRIX_FORMAT) {
                    return Err(wrong(inert!(
                        "its matrix.json is not a {} document; choose a new directory",
                        MATRIX_FORMAT
                    )));
                }
                // The existing document may describe a different request.
                directory.finish(empty)?;
                return Ok(directory);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(wrong(inert!("cannot read its matrix.json: {}", error))),
        }
        let listed = fs::read_dir(path)
            .map_err(|error| wrong(inert!("cannot read the directory: {}", error)))?;
        if let Some(entry) = listed.flatten().next() {
            let what = if path.join("run.json").exists() {
                "the directory already contains a single run".to_owned()
            } else {
                format!(
                    "the directory contains `{}`, but no matrix",
                    entry.file_name().to_string_lossy()
                )
            };
            return Err(wrong(inert!("{}; choose a new directory", what)));
        }
        directory.finish(empty)?;
        Ok(directory)
    }

    /// Opens the directory like [`MatrixDirectory::open`], and removes its cells and reports.
    ///
    /// # Errors
    /// Returns an error like `open`, or if a cell cannot be removed.
    pub fn open_empty(path: &Path, empty: &MatrixRecord) -> Result<MatrixDirectory, Failure> {
        let text = document_of(path).unwrap_or_default();
        let before: Option<MatrixRecord> = serde_json::from_str(&text).ok();
        let directory = MatrixDirectory::open(path, empty)?;
        for cell in before.into_iter().flat_map(|before| before.cells) {
            directory.remove(cell.run_dir.as_deref().unwrap_or_default());
        }
        for report in ["gate.json", "gate.md", "junit.xml", "report.html"] {
            directory.output.remove_file(Path::new(report)).ok();
        }
        Ok(directory)
    }

    /// Removes a cell, and the directories that become empty.
    pub fn remove(&self, run_dir: &str) {
        if run_dir.is_empty() {
            return;
        }
        // The name may come from a foreign file, and may lead outside of the directory.
        let inside = Path::new(run_dir);
        self.output.remove(inside, is_of_run).ok();
        for parent in inside.ancestors().skip(1).filter(|it| *it != Path::new("")) {
            self.output.remove_empty(parent).ok();
        }
    }

    pub fn path(&self) -> &Path {
        self.output.root()
    }

    /// Writes the document.
    pub fn finish(&self, record: &MatrixRecord) -> Result<(), Failure> {
        RunDirectory::below(&self.output, Path::new("")).write("matrix.json", |file| {
            writeln!(file, "{}", documents::matrix_json(record))
        })
    }

    /// Returns the stored cell if it was run under the same conditions. Removes an outdated cell.
    pub fn find(&self, task: &Task, key: &RunConditions) -> Result<StoredState, Failure> {
        let path = Path::new(&cell_dir(task)).join("cell.json");
        let text = self.output.read(&path, MAX_DOCUMENT_LENGTH);
        let stored: Option<StoredCell> =
            text.ok().and_then(|text| serde_json::from_str(&text).ok());
        let found = match stored.map(|stored| (difference(&stored, task, key), stored.cell)) {
            Some((None, cell)) => {
                return Ok(StoredState::MatrixResult(Box::new(updated(cell, task))));
            }
            Some((Some(why), _)) => StoredState::Outdated(why),
            None => StoredState::Missing,
        };
        self.clear(task)?;
        Ok(found)
    }

    /// Creates the temporary directory of a run, which is used until the run to show is known.
    ///
    /// # Errors
    /// Returns an error if it cannot be created, or a symbolic link is in the way.
    pub fn run(&self, task: &Task, seed: u64) -> Result<HandedDirectory, String> {
        let inside = run_dir(task, seed);
        let path = self.path().join(&inside);
        let created = self.output.hand_over(&inside);
        created.map_err(|error| format!("cannot create {}: {error}", path.display()))
    }

    /// Removes a run that is not shown.
    pub fn discard(&self, task: &Task, seed: u64) {
        // A directory that cannot be removed now is removed when the cell runs again.
        self.output.remove(&run_dir(task, seed), is_of_run).ok();
    }

    /// Returns the empty directory of the shown run.
    pub fn shown(&self, task: &Task) -> Result<RunDirectory, Failure> {
        let inside = cell_dir(task);
        let created = self.output.create(Path::new(&inside));
        created.map_err(Failure::at("create", &self.path().join(&inside)))?;
        Ok(RunDirectory::below(&self.output, Path::new(&inside)))
    }

    /// Stores a finished cell: first its shown run, if it has a directory, then the cell itself.
    pub fn store(&self, task: &Task, key: &RunConditions, cell: &mut Cell) -> Result<(), Failure> {
        let name = cell_dir(task);
        let from = run_dir(task, cell.seed);
        let path = self.path().join(&from);
        if path.exists() {
            let renamed = self.output.rename(&from, Path::new(&name));
            renamed.map_err(Failure::at("rename", &path))?;
        }
        let directory = RunDirectory::below(&self.output, Path::new(&name));
        directory.compress_command_log()?;
        cell.run_dir = Some(name);
        let stored = StoredCell {
            format: CELL_FORMAT.to_owned(),
            key: key.clone(),
            program: Program::from_lock(&task.spec.lock),
            cell: cell.clone(),
        };
        directory.write("cell.json", |file| {
            serde_json::to_writer_pretty(&mut *file, &stored)?;
            writeln!(file)
        })
    }

    /// Removes the cell, finished or not, if it exists.
    pub fn clear(&self, task: &Task) -> Result<(), Failure> {
        let cell = cell_dir(task);
        let cell = Path::new(&cell);
        let unfinished = format!(".{}-seed-", task.spec.backend);
        let parent = cell.parent().unwrap_or(Path::new(""));
        let path = self.path().join(parent);
        let refused = |error| Failure::Usage(inert!("--out {}: {}", path.display(), error));
        self.output.create(parent).map_err(refused)?;
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if parent.join(&name) == cell || name.starts_with(&unfinished) {
                let removed = self.output.remove(&parent.join(&name), is_of_run);
                removed.map_err(Failure::at("remove", &entry.path()))?;
            }
        }
        Ok(())
    }
}

/// Returns the temporary path of a run, relative to the matrix's directory. It is used until the run to show is known.
fn run_dir(task: &Task, seed: u64) -> PathBuf {
    let name = format!(".{}-seed-{seed}", task.spec.backend);
    Path::new(&cell_dir(task)).with_file_name(name)
}

/// Returns the cell's path, `redlock/gc-pause/sim`, relative to the matrix's directory.
fn cell_dir(task: &Task) -> String {
    let spec = &task.spec;
    let options = spec.lock.options.iter();
    let lock = options.fold(spec.lock.name.clone(), |name, (key, value)| {
        format!("{name},{key}={value}")
    });
    let (lock, scenario) = (slug(&lock), slug(&spec.scenario.name));
    format!("{lock}/{scenario}/{}", spec.backend)
}

/// Returns why a stored cell is no longer valid for the task, or `None` if the cell is valid.
fn difference(stored: &StoredCell, task: &Task, key: &RunConditions) -> Option<&'static str> {
    let (cell, now) = (&stored.cell, &task.spec);
    let options = now.lock.options_by_name();
    let (then, backend) = (&stored.key, now.backend);
    let checks = [
        (stored.format == CELL_FORMAT, "its format"),
        (then.picklock == key.picklock, "the version of picklock"),
        (then.seed == key.seed, "the seed"),
        (then.seeds == key.seeds, "the number of seeds"),
        (
            cell.lock.name == now.lock.name && stored.program == Program::from_lock(&now.lock),
            "the lock",
        ),
        (cell.options == options, "the lock's options"),
        (cell.scenario_hash == task.scenario_hash, "the scenario"),
        (
            cell.expected == task.expected.to_record(),
            "the expectation",
        ),
        (then.server == key.server, "the server"),
        (
            backend != BackendName::Docker || then.image == key.image,
            "the image",
        ),
        (
            backend != BackendName::Process || then.redis_server == key.redis_server,
            "the redis-server",
        ),
        (
            backend != BackendName::External || then.external == key.external,
            "the servers",
        ),
    ];
    let changed = checks.into_iter().find(|(same, _)| !same);
    changed.map(|(_, what)| what)
}

/// Returns a stored cell with the current summary and command, which do not affect its runs.
fn updated(cell: Cell, task: &Task) -> Cell {
    Cell {
        summary: task.spec.scenario.summary.clone(),
        reproduce: ReproduceCommand::for_run(&task.spec.with_seed(cell.seed)).to_string(),
        ..cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_file_of_a_command_line_is_another_program() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("lock.py");
        let state = |text: &str| {
            fs::write(&script, text).unwrap();
            FileState::named_by("--script=lock.py", Some(dir.path())).unwrap()
        };
        let first = state("one");
        assert_eq!(first.path, script);
        assert_ne!(first, state("other"));
        assert!(FileState::named_by("sh", None).is_some(), "found on PATH");
        assert_eq!(FileState::named_by("no-such-file", Some(dir.path())), None);
    }

    #[test]
    fn result_of_an_earlier_call_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let begun = MatrixRecord {
            format: MATRIX_FORMAT.to_owned(),
            interrupted: true,
            ..MatrixRecord::default()
        };
        let directory = MatrixDirectory::open(&folder.path().join("m"), &begun).unwrap();
        let ended = MatrixRecord {
            interrupted: false,
            ..begun.clone()
        };
        directory.finish(&ended).unwrap();
        fs::write(directory.path().join("gate.json"), "{}").unwrap();
        let written = directory.path().join("matrix.json");
        let is_interrupted = || {
            let text = fs::read_to_string(&written).unwrap();
            let document: serde_json::Value = serde_json::from_str(&text).unwrap();
            document["interrupted"] == true
        };
        assert!(!is_interrupted());
        let path = directory.path().to_owned();
        let refusal = MatrixDirectory::open(&path, &begun).unwrap_err();
        assert!(refusal.text().contains("another picklock is writing"));
        drop(directory);
        MatrixDirectory::open(&path, &begun).unwrap();
        assert!(is_interrupted());
        assert!(path.join("gate.json").exists());
        MatrixDirectory::open_empty(&path, &begun).unwrap();
        assert!(!path.join("gate.json").exists());
    }
}

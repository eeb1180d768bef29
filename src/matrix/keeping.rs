//! What stays of a matrix: its document, and for each cell the run that is shown.
//!
//! ```text
//! DIR/matrix.json                       the document; also the sign that a matrix lives here
//! DIR/redlock/gc-pause/sim/run.json …   the run that is shown
//! DIR/redlock/gc-pause/sim/cell.json    the cell, written last: a directory with it is finished
//! DIR/redlock/gc-pause/.sim-seed-7/     a run that is not finished, or not yet chosen
//! ```

use picklock_scenarios::WorldName;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use picklock_harness::record::{Cell, MATRIX_FORMAT, MatrixRecord};
use picklock_reports::file_name::slug;
use picklock_reports::matrix::matrix_json;
use serde::{Deserialize, Serialize};

use super::cli::MatrixArgs;
use super::selection::Task;
use crate::exit::Failure;
use crate::output::RunDirectory;

/// Format and version of a kept cell.
const CELL_FORMAT: &str = "picklock-cell/1";

/// The directory of a matrix.
#[derive(Debug, Clone)]
pub struct Keeping(PathBuf);

/// A finished cell, with all that must be the same for it to stand for a new run.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    format: String,
    key: Key,
    cell: Cell,
}

/// What decides how the runs of a cell go, besides what the cell itself says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    picklock: String,
    seed: u64,
    seeds: u64,
    image: Option<String>,
    redis_server: Option<String>,
}

impl Key {
    /// Of the runs that these arguments ask for.
    pub fn of(args: &MatrixArgs) -> Key {
        let server = args.servers.redis_server.as_ref();
        Key {
            picklock: env!("CARGO_PKG_VERSION").to_owned(),
            seed: args.seed,
            seeds: args.seeds,
            image: args.servers.image.clone(),
            redis_server: server.map(|path| path.display().to_string()),
        }
    }
}

/// Whether a cell is there already.
pub enum Found {
    /// It is, and still stands.
    Finished(Box<Cell>),
    /// It is, but of another run: for this reason it runs anew.
    Outdated(&'static str),
    /// It is not.
    Missing,
}

impl Keeping {
    /// A directory for a matrix: a new one, or one that a matrix lives in.
    ///
    /// # Errors
    /// It holds something else, or cannot be made.
    pub fn open(path: &Path, empty: &MatrixRecord) -> Result<Keeping, Failure> {
        let wrong = |text: String| Failure::Usage(format!("--out {}: {text}", path.display()));
        let keeping = Keeping(path.to_owned());
        match fs::read_to_string(path.join("matrix.json")) {
            Ok(text) => {
                let document: Option<serde_json::Value> = serde_json::from_str(&text).ok();
                let format = document.as_ref().and_then(|d| d["format"].as_str());
                if format != Some(MATRIX_FORMAT) {
                    return Err(wrong(format!(
                        "the matrix.json in it is no {MATRIX_FORMAT} document; name a new directory"
                    )));
                }
                return Ok(keeping);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(wrong(format!("cannot read its matrix.json: {error}"))),
        }
        fs::create_dir_all(path)
            .map_err(|error| wrong(format!("cannot make the directory: {error}")))?;
        let listed = fs::read_dir(path)
            .map_err(|error| wrong(format!("cannot read the directory: {error}")))?;
        if let Some(entry) = listed.flatten().next() {
            let what = match path.join("run.json").exists() {
                true => "a single run is in it already".to_owned(),
                false => format!(
                    "it holds `{}`, and no matrix",
                    entry.file_name().to_string_lossy()
                ),
            };
            return Err(wrong(format!("{what}; name a new directory")));
        }
        keeping.finish(empty)?;
        Ok(keeping)
    }

    /// Writes the document.
    ///
    /// # Errors
    /// The disk is full, or the directory went away.
    pub fn finish(&self, record: &MatrixRecord) -> Result<(), Failure> {
        RunDirectory::at(&self.0).write("matrix.json", |file| {
            writeln!(file, "{}", matrix_json(record))
        })
    }

    /// The cell, if it was finished by a run like this one. What is there of another is removed.
    ///
    /// # Errors
    /// What is there cannot be removed.
    pub fn find(&self, task: &Task, key: &Key) -> Result<Found, Failure> {
        let text = fs::read_to_string(self.0.join(cell_dir(task)).join("cell.json"));
        let kept: Option<Kept> = text.ok().and_then(|text| serde_json::from_str(&text).ok());
        let found = match kept {
            Some(kept) => match difference(&kept, task, key) {
                None => return Ok(Found::Finished(Box::new(renewed(kept.cell, task)))),
                Some(why) => Found::Outdated(why),
            },
            None => Found::Missing,
        };
        self.clear(task)?;
        Ok(found)
    }

    /// Where a run of the cell goes until it is known which one is shown.
    pub fn run(&self, task: &Task, seed: u64) -> PathBuf {
        let cell = cell_dir(task);
        let name = format!(".{}-seed-{seed}", task.backend);
        self.0.join(cell).with_file_name(name)
    }

    /// Removes a run that is not shown.
    pub fn discard(&self, task: &Task, seed: u64) {
        // What cannot be removed now is removed when the cell is run anew.
        fs::remove_dir_all(self.run(task, seed)).ok();
    }

    /// The directory of the shown run, empty.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn shown(&self, task: &Task) -> Result<RunDirectory, Failure> {
        RunDirectory::create(&self.0.join(cell_dir(task)))
    }

    /// Stores a finished cell: its shown run, if it lies among those that were not yet chosen, and
    /// last the cell itself.
    ///
    /// # Errors
    /// The disk is full, or the directory went away.
    pub fn store(&self, task: &Task, key: &Key, cell: &mut Cell) -> Result<(), Failure> {
        let name = cell_dir(task);
        let (from, to) = (self.run(task, cell.seed), self.0.join(&name));
        if from.exists() {
            fs::rename(&from, &to).map_err(|error| {
                Failure::Environment(format!("cannot rename {}: {error}", from.display()))
            })?;
        }
        cell.run_dir = Some(name);
        let kept = Kept {
            format: CELL_FORMAT.to_owned(),
            key: key.clone(),
            cell: cell.clone(),
        };
        RunDirectory::at(&to).write("cell.json", |file| {
            serde_json::to_writer_pretty(&mut *file, &kept)?;
            writeln!(file)
        })
    }

    fn clear(&self, task: &Task) -> Result<(), Failure> {
        let dir = self.0.join(cell_dir(task));
        let unfinished = format!(".{}-seed-", task.backend);
        let Some(parent) = dir.parent() else {
            return Ok(());
        };
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path() == dir || name.starts_with(&unfinished) {
                fs::remove_dir_all(entry.path()).map_err(|error| {
                    let path = entry.path();
                    Failure::Environment(format!("cannot remove {}: {error}", path.display()))
                })?;
            }
        }
        fs::create_dir_all(parent).map_err(|error| {
            Failure::Environment(format!("cannot make {}: {error}", parent.display()))
        })
    }
}

/// `redlock/gc-pause/sim`, relative to the matrix's directory.
fn cell_dir(task: &Task) -> String {
    let order = &task.order;
    let options = order.args.options.iter();
    let subject = options.fold(order.subject.name.clone(), |name, (key, value)| {
        format!("{name},{key}={value}")
    });
    format!(
        "{}/{}/{}",
        slug(&subject),
        slug(&order.scenario.name),
        task.backend
    )
}

/// Why a kept cell does not stand for the task, if it does not.
fn difference(kept: &Kept, task: &Task, key: &Key) -> Option<&'static str> {
    let (cell, now) = (&kept.cell, &task.order);
    let options = now.args.options.iter().cloned().collect();
    let checks = [
        (kept.format == CELL_FORMAT, "its format"),
        (kept.key.picklock == key.picklock, "the version of picklock"),
        (kept.key.seed == key.seed, "the seed"),
        (kept.key.seeds == key.seeds, "the number of seeds"),
        (cell.subject.name == now.subject.name, "the lock"),
        (cell.options == options, "the lock's options"),
        (cell.scenario_hash == task.scenario_hash, "the scenario"),
        (
            cell.expected == task.expected.in_words(),
            "what is expected",
        ),
        (
            task.backend != WorldName::Docker || kept.key.image == key.image,
            "the image",
        ),
        (
            task.backend != WorldName::Process || kept.key.redis_server == key.redis_server,
            "the redis-server",
        ),
    ];
    let changed = checks.into_iter().find(|(same, _)| !same);
    changed.map(|(_, what)| what)
}

/// A kept cell with the words of today, which do not change how it ran.
fn renewed(cell: Cell, task: &Task) -> Cell {
    Cell {
        summary: task.order.scenario.summary.clone(),
        reproduce: task.order.with_seed(cell.seed).reproduce(task.backend),
        ..cell
    }
}

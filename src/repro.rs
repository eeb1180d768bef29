//! The repro file of a run: made of an order, and read again.

use std::fs;
use std::path::{Path, PathBuf};

use picklock_harness::record::{Outcome, Overrides, REPRO_FORMAT, Repro, ReproSubject, RunRecord};
use picklock_reports::repro::FILE;
use serde::Deserialize;

use crate::exit::Failure;
use crate::order::Order;
use crate::source::Source;

/// The repro of a run.
pub fn of(order: &Order, record: &RunRecord) -> Repro {
    let args = &order.args;
    let server = args.servers.redis_server.as_ref();
    Repro {
        format: REPRO_FORMAT.to_owned(),
        picklock: record.picklock.clone(),
        backend: record.backend,
        seed: order.seed,
        scenario_given: args.scenario.clone(),
        subject: ReproSubject {
            name: order.subject.name.clone(),
            version: record.subject.version.clone(),
            options: args.options.iter().cloned().collect(),
        },
        overrides: Overrides {
            workers: args.workers,
            nodes: args.nodes,
            ttl: args.ttl,
            image: args.servers.image.clone(),
            redis_server: server.map(|path| path.display().to_string()),
        },
        verdicts: Outcome::of(&record.verdicts),
        scenario: order.scenario.clone(),
    }
}

/// The repro file that a path means: itself, or the one in the directory of a run.
///
/// # Errors
/// There is none, with what is there instead.
pub fn find(path: &Path) -> Result<PathBuf, Failure> {
    let wrong = |text: String| Err(Failure::Usage(format!("{}: {text}", path.display())));
    if !path.is_dir() {
        return match path.file_name().and_then(|name| name.to_str()) {
            Some("run.json" | "history.jsonl" | "wire.jsonl") => {
                wrong(format!("name the directory that it is in, or its {FILE}"))
            }
            _ => Ok(path.to_owned()),
        };
    }
    let file = path.join(FILE);
    if file.exists() {
        return Ok(file);
    }
    if path.join("matrix.json").exists() {
        return wrong(format!(
            "a matrix is in it, not a run: name the directory of one of its cells, such as {}",
            path.join("LOCK/SCENARIO/WORLD").display()
        ));
    }
    match path.join("run.json").exists() {
        true => wrong(format!(
            "there is a run in it, but no {FILE}: an older picklock kept it. Its run.json says \
             under \"reproduce\" which command repeats it"
        )),
        false => wrong(format!(
            "there is no {FILE} in it: name a directory that `picklock scenario --out` has made"
        )),
    }
}

/// Reads a repro file.
///
/// # Errors
/// It cannot be read, is of another program or version, or is wrong in some line.
pub fn read(path: &Path) -> Result<Repro, Failure> {
    /// What every version has.
    #[derive(Deserialize)]
    struct Known {
        format: Option<toml::Value>,
    }
    let file = path.display().to_string();
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::Usage(format!("{file}: cannot read the repro: {error}")))?;
    let source = Source { file, text };
    let known: Known = toml::from_str(&source.text).map_err(|error| source.unreadable(&error))?;
    let wrong = |text: String| Err(Failure::Usage(format!("{}: {text}", source.file)));
    match known.format.as_ref().map(toml::Value::as_str) {
        Some(Some(REPRO_FORMAT)) => {}
        Some(Some(other)) if other.starts_with("picklock-repro/") => {
            return wrong(format!(
                "its format is {other:?}, and this picklock reads {REPRO_FORMAT:?}: use the \
                 picklock that made it, or a newer one"
            ));
        }
        Some(other) => {
            let found = other.map_or("no text".to_owned(), |other| {
                format!("{:?}", other.chars().take(60).collect::<String>())
            });
            return wrong(format!(
                "no repro of picklock: its format is {found}; expected {REPRO_FORMAT:?}"
            ));
        }
        None => {
            return wrong(format!(
                "no repro of picklock: it has no format key; expected format = {REPRO_FORMAT:?}. \
                 A scenario is run by `picklock scenario FILE --impl NAME`"
            ));
        }
    }
    toml::from_str(&source.text).map_err(|error| source.unreadable(&error))
}

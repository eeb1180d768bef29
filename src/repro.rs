//! The repro file of a run: from a specification to the file, and back.

use std::path::{Path, PathBuf};

use picklock_harness::named_server::UnknownServer;
use picklock_harness::record::{
    Outcome, REPRO_FORMAT, Repro, ReproOverrides, ReproSubject, RunRecord, scenario_hash,
};
use picklock_harness::spec::{Overrides, RunSpec, ScenarioSource, ServerChoice};
use picklock_reports::repro::FILE;
use picklock_scenarios::Scenario;
use serde::Deserialize;

use crate::exit::Failure;
use crate::named_subject::NamedSubject;
use crate::regular_file::{self, LONGEST_TEXT, Links};
use crate::run_request::{RunRequest, load};
use crate::source::Source;
use crate::subject;

/// The repro of a run.
pub fn of(spec: &RunSpec, record: &RunRecord) -> Repro {
    let server = spec.servers.redis_server.as_ref();
    let named = NamedSubject::of(&spec.subject);
    Repro {
        format: REPRO_FORMAT.to_owned(),
        picklock: record.picklock.clone(),
        backend: spec.world,
        seed: spec.seed,
        scenario_given: spec.scenario_named().to_owned(),
        subject: ReproSubject {
            name: named.given().to_owned(),
            label: named.label().map(str::to_owned),
            version: record.subject.version.clone(),
            options: spec.subject.options_by_name(),
        },
        overrides: ReproOverrides {
            workers: spec.overrides.workers,
            nodes: spec.overrides.nodes,
            ttl: spec.overrides.ttl,
            server: spec.servers.named.map(|server| server.name().to_owned()),
            image: spec.servers.image.clone(),
            redis_server: server.map(|path| path.display().to_string()),
        },
        verdicts: Outcome::of(&record.verdicts),
        scenario: spec.scenario.clone(),
    }
}

/// The lock of a repro file.
fn named_subject(subject: &ReproSubject) -> Result<NamedSubject, Failure> {
    match &subject.label {
        Some(label) => NamedSubject::labelled(label, &subject.name).map_err(Failure::Usage),
        None => Ok(NamedSubject::plain(&subject.name)),
    }
}

/// The run that a repro file describes. `servers` overrides the servers in the file.
///
/// # Errors
/// This picklock cannot run it: the lock or an option no longer exists.
pub fn request(repro: &Repro, file: PathBuf, servers: ServerChoice) -> Result<RunRequest, Failure> {
    let then = &repro.overrides;
    let options: Vec<(String, String)> = repro.subject.options.clone().into_iter().collect();
    let overrides = Overrides {
        workers: then.workers,
        nodes: then.nodes,
        ttl: then.ttl,
    };
    let cannot = |text: String| {
        Failure::Usage(format!(
            "{}: this picklock cannot replay it: {text}",
            file.display()
        ))
    };
    let named = then.server.as_ref().map(|name| name.parse());
    let servers = servers.or(ServerChoice {
        named: named
            .transpose()
            .map_err(|error: UnknownServer| cannot(error.to_string()))?,
        image: then.image.clone(),
        redis_server: then.redis_server.clone().map(PathBuf::from),
    });
    let named = repro.scenario_given.clone();
    let request = |scenario: Scenario, source| {
        let subject = subject::named(&named_subject(&repro.subject)?, &options)?;
        let servers = servers.clone();
        RunRequest::new(subject, scenario, source, overrides, servers, repro.seed)
    };
    let source = ScenarioSource::Repro {
        named: named.clone(),
        file: file.clone(),
    };
    let replayed = request(repro.scenario.clone(), source).map_err(|error| match error {
        // The content was valid when the file was written.
        Failure::Usage(text) => cannot(text),
        other => other,
    })?;
    // If the name still refers to the same scenario, the plain command repeats the run as well.
    let source = ScenarioSource::Named(named.clone());
    let same = load(&named)
        .and_then(|scenario| request(scenario, source.clone()))
        .is_ok_and(|now| scenario_hash(&now.scenario) == scenario_hash(&replayed.scenario));
    Ok(match same {
        true => replayed.with_source(source),
        false => replayed,
    })
}

/// The repro file for a path: the path itself, or the file in the directory of a run.
///
/// # Errors
/// There is none; the error says what is there instead.
pub fn find(path: &Path) -> Result<PathBuf, Failure> {
    let wrong = |text: String| Err(Failure::Usage(format!("{}: {text}", path.display())));
    if !path.is_dir() {
        return match path.file_name().and_then(|name| name.to_str()) {
            Some("run.json" | "history.jsonl" | "wire.jsonl" | "custody.jsonl") => {
                wrong(format!("name its directory, or the {FILE} in it"))
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
            "it contains a matrix, not a run: name the directory of one of its cells, such as {}",
            path.join("LOCK/SCENARIO/WORLD").display()
        ));
    }
    match path.join("run.json").exists() {
        true => wrong(format!(
            "it contains a run, but no {FILE}: an older picklock wrote it. Its run.json says \
             under \"reproduce\" which command repeats it"
        )),
        false => wrong(format!(
            "it contains no {FILE}: name a directory written by `picklock scenario --out`"
        )),
    }
}

/// Reads a repro file.
///
/// # Errors
/// It cannot be read, belongs to another program or version, or has an invalid line.
pub fn read(path: &Path) -> Result<Repro, Failure> {
    /// What every version of the format has.
    #[derive(Deserialize)]
    struct Known {
        format: Option<toml::Value>,
    }
    let file = path.display().to_string();
    let text = regular_file::read(path, LONGEST_TEXT, Links::Refused)
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
            let found = other.map_or("not a string".to_owned(), |other| {
                format!("{:?}", other.chars().take(60).collect::<String>())
            });
            return wrong(format!(
                "not a picklock repro: its format is {found}; expected {REPRO_FORMAT:?}"
            ));
        }
        None => {
            return wrong(format!(
                "not a picklock repro: it has no format key; expected format = {REPRO_FORMAT:?}. \
                 To run a scenario, use `picklock scenario FILE --impl NAME`"
            ));
        }
    }
    toml::from_str(&source.text).map_err(|error| source.unreadable(&error))
}

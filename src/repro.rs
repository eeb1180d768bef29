//! The repro file of a run: from a specification to the file, and back.

use std::path::{Path, PathBuf};

use picklock_harness::adapter::worker_command::WorkerCommand;
use picklock_harness::external_servers::ExternalServers;
use picklock_harness::history::Declarations;
use picklock_harness::named_server::UnknownServer;
use picklock_harness::record::{
    REPRO_FORMAT, RecordedVerdict, Repro, ReproLock, ReproOverrides, RunRecord, scenario_hash,
};
use picklock_harness::spec::{LockSpec, Overrides, RunSpec, ScenarioSource, ServerChoice};
use picklock_reports::configuration::Source;
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_reports::repro::FILE;
use picklock_scenarios::{BackendName, Scenario};
use serde::Deserialize;

use crate::configuration::configured_lock::{NODES, REPLICAS, check_number, check_variable};
use crate::configuration::configured_locks::ConfiguredLocks;
use crate::exit::Failure;
use crate::named_lock::{NamedLock, program};
use crate::saved_run;
use crate::specification::{checked, load};
use crate::untrusted_file::{self, Links, MAX_TEXT_LENGTH};
use crate::{external_choice, lock};

/// Creates the repro of a run.
pub fn from_run(spec: &RunSpec, record: &RunRecord) -> Repro {
    let server = spec.servers.redis_server.as_ref();
    Repro {
        format: REPRO_FORMAT.to_owned(),
        picklock: record.picklock.clone(),
        backend: spec.backend,
        seed: spec.seed,
        scenario_given: spec.scenario_named().to_owned(),
        lock: repro_lock(&spec.lock, record),
        overrides: ReproOverrides {
            workers: spec.overrides.workers,
            nodes: spec.overrides.nodes,
            ttl: spec.overrides.ttl,
            server: spec.servers.named.map(|server| server.name().to_owned()),
            image: spec.servers.image.clone(),
            redis_server: server.map(|path| path.display().to_string()),
            servers: spec.servers.external.as_ref().map(ExternalServers::table),
        },
        verdicts: RecordedVerdict::from_verdicts(&record.verdicts),
        scenario: spec.scenario.clone(),
    }
}

/// Returns all settings that are needed to start the lock, because the configuration may no longer exist when the run
/// is replayed.
fn repro_lock(lock: &LockSpec, record: &RunRecord) -> ReproLock {
    let command = lock.command.as_ref();
    let directory = command.and_then(|command| command.directory.as_ref());
    ReproLock {
        name: lock.typed.as_ref().unwrap_or(&lock.name).clone(),
        label: lock.typed.as_ref().map(|_| lock.name.clone()),
        directory: directory.map(|path| path.display().to_string()),
        // A built-in lock defines these numbers itself.
        nodes: command.map(|_| lock.nodes).filter(|it| *it != 1),
        replicas: command.map(|_| lock.replicas).filter(|it| *it != 0),
        renews: command.is_some() && lock.renews,
        min_hold_ms: Some(lock.declares.min_hold_ms).filter(|ms| *ms != 0),
        lease_margin_ms: Some(lock.declares.lease_margin_ms).filter(|ms| *ms != 0),
        needs_every_node: lock.needs_every_node,
        version: record.lock.version.clone(),
        options: lock.options_by_name(),
        environment: command
            .map(|command| command.environment.clone())
            .unwrap_or_default(),
    }
}

/// Returns the lock of a repro file.
fn lock_of(lock: &ReproLock) -> Result<LockSpec, Failure> {
    let options: Vec<(String, String)> = lock.options.clone().into_iter().collect();
    let named = match &lock.label {
        Some(label) => NamedLock::labelled(label, &lock.name)
            .map_err(|problem| Failure::Usage(Inert::lines(&problem)))?,
        None => NamedLock::plain(&lock.name),
    };
    if !is_configured(lock) {
        return lock::named(&named, &options, &ConfiguredLocks::default());
    }
    check_table(lock)
        .map_err(|problem| Failure::Usage(inert!("[lock]: {}", Inert::lines(&problem))))?;
    let command = program(named.given()).map_err(|problem| {
        Failure::Usage(inert!("{}: {}", named.shown(), Inert::lines(&problem)))
    })?;
    let one = LockSpec {
        typed: Some(named.given().to_owned()),
        options,
        nodes: lock.nodes.unwrap_or(*NODES.start()),
        replicas: lock.replicas.unwrap_or(*REPLICAS.start()),
        renews: lock.renews,
        declares: Declarations {
            min_hold_ms: lock.min_hold_ms.unwrap_or(0),
            lease_margin_ms: lock.lease_margin_ms.unwrap_or(0),
        },
        needs_every_node: lock.needs_every_node,
        command: Some(WorkerCommand {
            directory: lock.directory.as_ref().map(PathBuf::from),
            environment: lock.environment.clone(),
            ..command
        }),
        ..LockSpec::new(named.shown())
    };
    lock::configured(one, &[])
}

/// Applies the checks of a configuration table. In addition, the directory must be absolute, because the file may be
/// anywhere.
fn check_table(lock: &ReproLock) -> Result<(), String> {
    if lock.label.is_none() {
        let problem =
            "only a program with a label has a directory, an environment, nodes or replicas";
        return Err(problem.to_owned());
    }
    for (name, value) in &lock.environment {
        check_variable(name, value)?;
    }
    let counts = [
        ("nodes", lock.nodes, NODES),
        ("replicas", lock.replicas, REPLICAS),
    ];
    for (key, number, bounds) in counts {
        if let Some(number) = number {
            check_number(key, number, &bounds)?;
        }
    }
    match &lock.directory {
        Some(directory) if !Path::new(directory).is_absolute() => Err(format!(
            "directory = {directory:?}: expected an absolute path"
        )),
        _ => Ok(()),
    }
}

/// Returns `true` if the file's lock needs more than a command line can express.
fn is_configured(lock: &ReproLock) -> bool {
    lock.directory.is_some()
        || !lock.environment.is_empty()
        || lock.nodes.is_some()
        || lock.replicas.is_some()
        || lock.min_hold_ms.is_some()
        || lock.lease_margin_ms.is_some()
        || lock.label.is_some() && (lock.renews || lock.needs_every_node)
}

/// Returns the run that a repro file describes, for the given backend and servers instead of the file's. If `agreed`,
/// Picklock may write to the user's servers on other machines.
///
/// # Errors
/// Returns an error if the lock or an option does not exist in this version of Picklock.
pub fn specification(
    repro: &Repro,
    file: PathBuf,
    servers: ServerChoice,
    (backend, agreed): (Option<BackendName>, bool),
) -> Result<RunSpec, Failure> {
    let then = &repro.overrides;
    let overrides = Overrides {
        workers: then.workers,
        nodes: then.nodes,
        ttl: then.ttl,
    };
    let cannot = |text: Inert| {
        Failure::Usage(inert!(
            "{}: this picklock cannot replay it: {}",
            file.display(),
            text
        ))
    };
    // A backend that does not need a password must not fail because the password is missing.
    let needs_them = backend == Some(BackendName::External) && servers.external.is_none();
    let named = then.server.as_ref().map(|name| name.parse());
    let servers = servers.or(ServerChoice {
        named: named
            .transpose()
            .map_err(|error: UnknownServer| cannot(inert!("{}", error)))?,
        image: then.image.clone(),
        redis_server: then.redis_server.clone().map(PathBuf::from),
        external: (then.servers.as_ref().filter(|_| needs_them))
            .map(|table| external_choice::from_table(table, agreed))
            .transpose()?,
    });
    let named = repro.scenario_given.clone();
    let spec = |scenario: Scenario, source| {
        checked(RunSpec {
            lock: lock_of(&repro.lock)?,
            scenario,
            source,
            backend: repro.backend,
            servers: servers.clone(),
            seed: repro.seed,
            overrides,
        })
    };
    let source = ScenarioSource::Repro {
        named: named.clone(),
        file: file.clone(),
    };
    let replayed = spec(repro.scenario.clone(), source).map_err(|error| match error {
        // The content was valid when the file was written.
        Failure::Usage(text) => cannot(text),
        other => other,
    })?;
    if is_configured(&repro.lock) {
        return Ok(replayed);
    }
    // If the name still refers to the same scenario, the plain command repeats the run as well.
    let now = load(&named).and_then(|scenario| spec(scenario, ScenarioSource::Named(named)));
    let same = now
        .ok()
        .filter(|now| scenario_hash(&now.scenario) == scenario_hash(&replayed.scenario));
    Ok(RunSpec {
        source: same.map_or(replayed.source, |now| now.source),
        ..replayed
    })
}

/// Returns the path of the repro file: the given path, or the repro file of the run directory to which it refers.
///
/// # Errors
/// Returns an error if there is no such file, with a hint about the kind of the path.
pub fn find(path: &Path) -> Result<PathBuf, Failure> {
    let Some(dir) = saved_run::directory(path)? else {
        return Ok(path.to_owned());
    };
    let file = dir.join(FILE);
    if file.exists() {
        return Ok(file);
    }
    let dir = dir.display();
    Err(Failure::Usage(inert!(
        "{}: it contains a run, but no {}: the run did not finish, or an older picklock wrote it. If there is a run.json, its \"reproduce\" field contains the command that repeats the run",
        dir,
        FILE
    )))
}

/// Reads a repro file.
///
/// # Errors
/// Returns an error if it cannot be read, belongs to another program or version, or has an invalid line.
pub fn read(path: &Path) -> Result<Repro, Failure> {
    /// The fields that every version of the format has.
    #[derive(Deserialize)]
    struct Known {
        format: Option<toml::Value>,
    }
    let file = path.display().to_string();
    let text = untrusted_file::read(path, MAX_TEXT_LENGTH, Links::Refused).map_err(|error| {
        Failure::Usage(inert!("{}: cannot read the repro file: {}", file, error))
    })?;
    let source = Source { file, text };
    let known: Known =
        toml::from_str(&source.text).map_err(|error| source.unreadable(&error, 0))?;
    let problem = match known.format.as_ref().map(toml::Value::as_str) {
        Some(Some(REPRO_FORMAT)) => {
            let repro = toml::from_str(&source.text);
            return repro.map_err(|error| source.unreadable(&error, 0).into());
        }
        Some(Some(other)) if other.starts_with("picklock-repro/") => format!(
            "its format is {other:?}, and this picklock reads {REPRO_FORMAT:?}: use the version of picklock that wrote it, or a newer one"
        ),
        Some(other) => {
            let found = other.map_or("not a string".to_owned(), |other| {
                format!("{:?}", other.chars().take(60).collect::<String>())
            });
            format!("not a picklock repro: its format is {found}; expected {REPRO_FORMAT:?}")
        }
        None => format!(
            "not a picklock repro: it has no format key; expected format = {REPRO_FORMAT:?}. \
             To run a scenario, use `picklock scenario FILE --impl NAME`"
        ),
    };
    Err(Failure::Usage(inert!(
        "{}: {}",
        source.file,
        Inert::lines(&problem)
    )))
}

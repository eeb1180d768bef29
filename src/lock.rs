//! The lock under test: from the command line to a specification, and from there to its code.

use std::collections::BTreeSet;
use std::path::PathBuf;

use picklock_harness::adapter::worker_command::WorkerCommand;
use picklock_harness::history::Declarations;
use picklock_harness::lock_factory::LockFactory;
use picklock_harness::spec::LockSpec;
use picklock_impls::{BuiltInLock, LOCKS, MUTANTS, OptionError, find};
use picklock_scenarios::{catalog, nearest};

use crate::configuration::configured_locks::ConfiguredLocks;
use crate::exit::Failure;
use crate::named_lock::{EXEC, NamedLock, program};

/// Returns the lock that `--impl` or `--name`, with `--impl-option`, select. `impls` are the configured locks.
///
/// # Errors
/// Returns an error if the name is unknown (with the list and the nearest name), a command line cannot be split, a
/// configured lock's directory does not exist, or an option is unknown or has an invalid value.
pub fn named(
    named: &NamedLock,
    options: &[(String, String)],
    impls: &ConfiguredLocks,
) -> Result<LockSpec, Failure> {
    let lock = spec(named, options, impls)?;
    check_options(&lock)?;
    Ok(lock)
}

/// A program of the user, as a table of a configuration or a repro file describes it. `options` come
/// before its own, and replace them.
///
/// # Errors
/// Returns an error if the working directory does not exist.
pub fn configured(mut lock: LockSpec, options: &[(String, String)]) -> Result<LockSpec, Failure> {
    if let Some(command) = &mut lock.command {
        if let Some(directory) = command.directory.as_ref().filter(|it| !it.is_dir()) {
            let (name, directory) = (&lock.name, directory.display());
            return Err(Failure::Usage(format!(
                "{name}: its directory {directory} does not exist"
            )));
        }
        // An image defines the working directory of its program.
        command.directory = command.directory.take().filter(|_| command.image.is_none());
    }
    let own = std::mem::take(&mut lock.options).into_iter();
    let own = own.filter(|(name, _)| options.iter().all(|(given, _)| given != name));
    lock.options = options.iter().cloned().chain(own).collect();
    Ok(lock)
}

fn spec(
    named: &NamedLock,
    options: &[(String, String)],
    impls: &ConfiguredLocks,
) -> Result<LockSpec, Failure> {
    let name = named.given();
    if named.is_program() {
        let command = program(name).map_err(|problem| {
            let (flag, value) = named.flag();
            Failure::Usage(format!("--{flag} {value}: {problem}"))
        })?;
        return Ok(LockSpec {
            name: named.shown().to_owned(),
            typed: named.label().map(|_| name.to_owned()),
            configuration: None,
            options: options.to_vec(),
            nodes: 1,
            replicas: 0,
            renews: false,
            declares: Declarations::default(),
            needs_every_node: false,
            command: Some(command),
        });
    }
    let Some(lock) = find(name) else {
        let (one, file) = impls.get(name).ok_or_else(|| unknown(name, impls))?;
        return Ok(LockSpec {
            configuration: Some(file.to_owned()),
            ..configured(one.lock.clone(), options)?
        });
    };
    Ok(LockSpec {
        name: name.to_owned(),
        typed: None,
        configuration: None,
        options: options.to_vec(),
        nodes: lock.nodes,
        replicas: lock.replicas,
        renews: false,
        declares: Declarations::default(),
        needs_every_node: false,
        command: None,
    })
}

/// Returns the built-in lock, or `None` for a program.
pub fn built_in(lock: &LockSpec) -> Option<&'static BuiltInLock> {
    find(&lock.name).filter(|_| lock.is_in_process())
}

/// The code of a built-in lock for the simulation.
///
/// # Errors
/// Returns an error if the lock is a program.
pub fn in_process(lock: &LockSpec) -> Result<LockFactory, Failure> {
    let built_in = built_in(lock).ok_or_else(|| {
        let (flag, value) = NamedLock::from_spec(lock).flag();
        Failure::Usage(format!(
            "--{flag} {value}: a program of your own runs in real time and cannot be simulated; choose --backend process or docker"
        ))
    })?;
    Ok(LockFactory::built_in(built_in))
}

/// Returns the version to use until the lock reports one: Picklock's version for a built-in lock.
pub fn version(lock: &LockSpec) -> &'static str {
    match lock.is_in_process() {
        true => env!("CARGO_PKG_VERSION"),
        false => "",
    }
}

/// What starts a worker: the external program, or this one for a built-in lock.
///
/// # Errors
/// Returns an error if the path of this program is unknown or not UTF-8.
pub fn worker_command(lock: &LockSpec) -> Result<WorkerCommand, Failure> {
    let contained = match &lock.command {
        Some(command) if command.image.is_none() => return Ok(command.clone()),
        contained => contained,
    };
    let program = this_program()?;
    let program = program.to_str().ok_or_else(|| {
        Failure::Environment(format!("the path {} is not UTF-8", program.display()))
    })?;
    if let Some(command) = contained {
        return Ok(WorkerCommand {
            argv: [program, "container-streams"].map(str::to_owned).to_vec(),
            ..command.clone()
        });
    }
    let argv = [program, "worker", "--impl", &lock.name];
    Ok(WorkerCommand::new(argv.map(str::to_owned).to_vec()))
}

pub fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::Environment(format!("cannot find the path of this program: {error}"))
    })
}

/// Checks the options against those that the lock declares. The options of an external program are unknown to Picklock.
fn check_options(lock: &LockSpec) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    for (name, value) in &lock.options {
        let wrong = |what: String| {
            Err(Failure::Usage(format!(
                "--impl-option {name}={value}: {what}"
            )))
        };
        if !seen.insert(name) {
            return wrong(format!("`{name}` was given twice"));
        }
        let Some(built_in) = built_in(lock) else {
            continue;
        };
        let Err(error) = built_in.read_options([(name.as_str(), value.as_str())]) else {
            continue;
        };
        let mut text = error.to_string();
        if let OptionError::Unknown { name, declared } = &error
            && let Some(meant) = nearest(name, declared.iter().copied())
        {
            text.push_str(&format!("\n  = help: did you mean `{meant}`?"));
        }
        return wrong(text);
    }
    Ok(())
}

fn unknown(name: &str, impls: &ConfiguredLocks) -> Failure {
    let known = || LOCKS.iter().map(|lock| lock.name);
    let all = known().chain(MUTANTS.iter().map(|mutant| mutant.name));
    let meant = match nearest(name, all.chain(impls.names())) {
        Some(meant) => format!("; did you mean `{meant}`?"),
        None if catalog::names().any(|scenario| scenario == name) => {
            "; that is a scenario: the lock stands after --impl".to_owned()
        }
        None if name.contains([',', '*']) => {
            "; one run tests one lock, and `picklock matrix` tests several".to_owned()
        }
        // The name is a path, or a command with arguments.
        None if name.contains(['/', ' ', '.']) => {
            format!("; did you mean the program `{EXEC}{name}`?")
        }
        None => String::new(),
    };
    let configured = impls.names().collect::<Vec<_>>().join(", ");
    let configured = match &impls.file {
        Some(file) if !configured.is_empty() => {
            format!("; those of {} are {configured}", file.display())
        }
        Some(file) => format!("; {} has no table [impl.{name}]", file.display()),
        None => String::new(),
    };
    Failure::Usage(format!(
        "--impl {name}: no such lock{meant}\n  = help: for a program of your own use `exec:COMMAND`, `docker:IMAGE`, or a table [impl.NAME] of a picklock.toml{configured}\n  = help: the built-in locks are {} (`picklock list impls` describes them)",
        known().collect::<Vec<_>>().join(", ")
    ))
}

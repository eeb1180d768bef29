//! The lock under test: from the command line to a specification, and from there to its code.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use picklock_harness::adapter::worker_command::WorkerCommand;
use picklock_harness::lock_factory::LockFactory;
use picklock_harness::spec::LockSpec;
use picklock_impls::{BuiltInLock, MUTANTS, OptionError, built_in as built_in_locks, find};
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_scenarios::{catalog, nearest};

use crate::configuration::DEFAULT_FILE;
use crate::configuration::configured_locks::ConfiguredLocks;
use crate::exit::Failure;
use crate::init;
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

/// Returns a program of the user, as a table of a configuration or a repro file describes it. `options` take precedence
/// over its own.
///
/// # Errors
/// Returns an error if the working directory does not exist.
pub fn configured(mut lock: LockSpec, options: &[(String, String)]) -> Result<LockSpec, Failure> {
    if let Some(command) = &mut lock.command {
        if let Some(directory) = command.directory.as_ref().filter(|it| !it.is_dir()) {
            let (name, directory) = (&lock.name, directory.display());
            return Err(Failure::Usage(inert!(
                "{}: its directory {} does not exist",
                name,
                directory
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
        let wrong = |problem: String| {
            let (flag, value) = named.flag();
            Failure::Usage(inert!("--{} {}: {}", flag, value, Inert::lines(&problem)))
        };
        let command = program(name).map_err(wrong)?;
        refuse_bare_file(&command).map_err(wrong)?;
        return Ok(LockSpec {
            typed: named.label().map(|_| name.to_owned()),
            options: options.to_vec(),
            command: Some(command),
            ..LockSpec::new(named.shown())
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
        options: options.to_vec(),
        ..LockFactory::built_in(lock).spec().clone()
    })
}

/// Returns the built-in lock, or `None` for a program.
pub fn built_in(lock: &LockSpec) -> Option<&'static BuiltInLock> {
    find(&lock.name).filter(|_| lock.is_in_process())
}

/// Returns the code of a built-in lock for the simulation.
///
/// # Errors
/// Returns an error if the lock is a program.
pub fn in_process(lock: &LockSpec) -> Result<LockFactory, Failure> {
    let built_in = built_in(lock).ok_or_else(|| {
        let (flag, value) = NamedLock::from_spec(lock).flag();
        Failure::Usage(inert!("--{} {}: a program of your own runs in real time and cannot be simulated; choose --backend process or docker", flag, value))
    })?;
    Ok(LockFactory::built_in(built_in))
}

/// Returns the version to use until the lock reports one: Picklock's version for a built-in lock.
pub fn version(lock: &LockSpec) -> &'static str {
    if lock.is_in_process() {
        env!("CARGO_PKG_VERSION")
    } else {
        ""
    }
}

/// Returns the command that starts a worker: the external program, or this program for a built-in lock.
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
        Failure::Environment(inert!("the path {} is not UTF-8", program.display()))
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
        Failure::Environment(inert!("cannot find the path of this program: {}", error))
    })
}

/// Checks the options against those that the lock declares. The options of an external program are unknown to Picklock.
fn check_options(lock: &LockSpec) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    for (name, value) in &lock.options {
        let wrong = |what: Inert| {
            Err(Failure::Usage(inert!(
                "--impl-option {}={}: {}",
                name,
                value,
                what
            )))
        };
        if !seen.insert(name) {
            return wrong(inert!("`{}` was given twice", name));
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
        return wrong(Inert::lines(&text));
    }
    Ok(())
}

/// Creates the error for an unknown name. If a similar name exists, the error is one line with that name; otherwise it
/// lists all names.
fn unknown(name: &str, impls: &ConfiguredLocks) -> Failure {
    let refused = |text: Inert| Failure::Usage(inert!("--impl {}: {}", name, text));
    let known = || built_in_locks().map(|lock| lock.name);
    let is_library = init::library_like(name);
    let exactly = is_library.filter(|(_, library)| library.eq_ignore_ascii_case(name));
    let meant = nearest(name, known().chain(impls.names())).or_else(|| mutant_like(name));
    if let Some(meant) = meant.filter(|_| exactly.is_none()) {
        return refused(inert!("no such lock; did you mean `{}`?", meant));
    }
    if catalog::names().any(|scenario| scenario == name) {
        return refused(inert!(
            "no such lock; `{}` is a scenario: pass the lock with --impl",
            name
        ));
    }
    if name.contains([',', '*']) {
        return refused(inert!(
            "no such lock; one run tests one lock, and `picklock matrix --impl '{}'` tests several",
            name
        ));
    }
    // The name is a path, or a command with arguments.
    if name.contains(['/', ' ', '.']) {
        let command = command_of_file(name);
        return refused(inert!(
            "no such lock; did you mean the program `--impl \"{}{}\"`?",
            EXEC,
            command
        ));
    }
    if let Some(library) = is_library {
        return refused(Inert::lines(&adapter_for(library)));
    }
    let configured = impls.names().collect::<Vec<_>>().join(", ");
    let configured = match &impls.file {
        Some(file) if !configured.is_empty() => {
            format!("those of {} are {configured}", file.display())
        }
        Some(file) => format!("{} has no table [impl.{name}]", file.display()),
        None => format!(
            "there is no {DEFAULT_FILE} in this directory, whose tables [impl.NAME] name locks of your own: go to its directory, or name it by --config FILE"
        ),
    };
    refused(inert!(
        "no such lock; {}\n  = help: `picklock init --lang python my-lock` begins a lock of your own; `exec:COMMAND` and `docker:IMAGE` start any program that implements the protocol\n  = help: the built-in locks are {} (`picklock list impls` describes them)",
        configured,
        known().collect::<Vec<_>>().join(", ")
    ))
}

/// Returns the message for the name of a library in this language: how to create an adapter for it.
fn adapter_for((language, library): (&str, &str)) -> String {
    format!(
        "no such lock; {library} is a library, and `picklock init --lang {language} --lib {library} {library}-lock` writes an adapter for it"
    )
}

/// Returns the mutant whose name is nearest. Mutants exist to test Picklock itself, so a mutant is suggested only if
/// its name starts with the same two letters.
fn mutant_like(name: &str) -> Option<&'static str> {
    let alike = MUTANTS.iter().map(|mutant| mutant.name);
    nearest(
        name,
        alike.filter(|mutant| mutant.get(..2) == name.get(..2)),
    )
}

/// Returns the command that starts a file, with an interpreter if the file's ending determines one.
fn command_of_file(file: &str) -> String {
    let ending = Path::new(file).extension().and_then(OsStr::to_str);
    let interpreter = match ending {
        _ if file.contains(' ') => return file.to_owned(),
        Some("py") => "python3",
        Some("js" | "mjs" | "cjs") => "node",
        Some("sh") => "bash",
        Some("jar") => "java -jar",
        Some("rb") => "ruby",
        Some("php") => "php",
        _ if file.contains('/') => return file.to_owned(),
        _ => return format!("./{file}"),
    };
    format!("{interpreter} {file}")
}

/// Refuses a command whose program is a file of this directory and not on PATH, where programs are looked up.
fn refuse_bare_file(command: &WorkerCommand) -> Result<(), String> {
    let Some(program) = command.argv.first().filter(|it| !it.contains('/')) else {
        return Ok(());
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_program = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if command.image.is_some() || is_program || !Path::new(program).is_file() {
        return Ok(());
    }
    let arguments = command.argv[1..].iter().map(|word| format!(" {word}"));
    Err(format!(
        "{program} is a file of this directory, and not a program on PATH\n  = help: write \"{}{}\"",
        command_of_file(program),
        arguments.collect::<String>()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_started_by_its_interpreter() {
        for (file, command) in [
            ("my_lock.py", "python3 my_lock.py"),
            ("./my_lock.mjs", "node ./my_lock.mjs"),
            ("python3 my_lock.py", "python3 my_lock.py"),
            ("bin/lock", "bin/lock"),
            ("lock.exe", "./lock.exe"),
        ] {
            assert_eq!(command_of_file(file), command);
        }
    }

    #[test]
    fn unlikely_mutant_is_not_proposed() {
        let none = ConfiguredLocks::default();
        let told = |name| unknown(name, &none).text().to_string();
        assert!(told("my-lock").contains("there is no picklock.toml"));
        assert!(!told("my-lock").contains("did you mean"));
        assert!(told("no-lok").contains("did you mean `no-lock`?"));
        // A guess is one line.
        assert_eq!(told("redlok").lines().count(), 1);
        assert!(told("Redisson").contains("init --lang java --lib redisson"));
    }
}

//! Turns names into the specification of a run, checked before anything starts.

use std::path::Path;

use picklock_harness::rng;
use picklock_harness::spec::{
    LockSpec, Override, Overrides, RunSpec, ScenarioSource, ServerChoice,
};
use picklock_reports::inert;
use picklock_reports::inert::Inert;

use picklock_scenarios::{
    BackendName, OTHERS, Scenario, ScenarioError, Seeds, catalog, did_you_mean,
};

use crate::backend_choice;
use crate::cli::ScenarioArgs;
use crate::configuration::configured_locks::ConfiguredLocks;
use crate::exit::Failure;
use crate::lock;
use crate::named_lock::NamedLock;
use crate::untrusted_file::{self, Links, MAX_TEXT_LENGTH};

/// Returns the run of a `picklock scenario` command line. If it names no backend, the backend of the specification is a
/// placeholder until one is [chosen](crate::backend_choice::choose).
///
/// # Errors
/// Returns an error if the command line or the scenario file is invalid.
pub fn from_args(args: &ScenarioArgs) -> Result<RunSpec, Failure> {
    let named = args.lock.named();
    let impls = ConfiguredLocks::for_names(args.config.config.as_deref(), [&named])?;
    let lock = lock::named(&named, &args.options, &impls)?;
    let scenario = load(&args.scenario)?;
    no_mistyped_lock(&args.scenario, &scenario, &impls, |name| name == lock.name)?;
    let seed = match args.seed {
        Some(seed) => seed,
        None => rng::fresh_seed()
            .map_err(|error| Failure::Environment(inert!("no entropy: {}", error)))?,
    };
    let backend = args.backend.backend();
    let servers = backend_choice::servers(&args.servers, &args.config, &[backend])?;
    let overrides = Overrides {
        workers: args.workers,
        nodes: args.nodes,
        ttl: args.ttl,
    };
    checked(RunSpec {
        overrides: with_nodes(overrides, &servers, &lock),
        lock,
        scenario,
        source: ScenarioSource::Named(args.scenario.clone()),
        backend: backend.unwrap_or(BackendName::Sim),
        servers,
        seed,
    })
}

/// Maximum number of workers for runs in parallel. A larger run runs alone, because on a small machine two such runs
/// slow each other down until no node answers in time and no client gets a lock. If the workers are the user's
/// programs, it runs only if the user names the scenario: each worker can be a separate virtual machine.
pub const MANY_WORKERS: usize = 100;

/// Why a program of the user runs a scenario only if the user has named it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsuited {
    #[error("it would start {0} processes of your program; run it with `--scenario`")]
    ManyProcesses(usize),
    #[error(
        "your program draws its tokens itself; if it takes them from the seed that it is given, run it with `--scenario`"
    )]
    SharedSeed,
}

/// Returns why this lock runs the scenario only if the user has named it, or `None` if no such condition applies. A
/// lock whose code is in this process runs every scenario that fits it.
pub fn unsuited(scenario: &Scenario, lock: &LockSpec) -> Option<Unsuited> {
    let workload = &scenario.workload;
    if lock.is_in_process() {
        None
    } else if workload.process_count() > MANY_WORKERS {
        Some(Unsuited::ManyProcesses(workload.process_count()))
    } else if workload.seeds == Seeds::Same {
        Some(Unsuited::SharedSeed)
    } else {
        None
    }
}

/// Assigns all servers that the user names to a program, unless its number of nodes is defined elsewhere.
pub fn with_nodes(overrides: Overrides, servers: &ServerChoice, lock: &LockSpec) -> Overrides {
    let named = servers.external.as_ref().map(|it| it.servers.len());
    let named = named.filter(|named| *named > 1 && !lock.is_in_process());
    Overrides {
        nodes: overrides.nodes.or(named),
        ..overrides
    }
}

/// Returns the specification with its overrides applied to the scenario.
///
/// # Errors
/// Returns an error if the scenario with its overrides does not fit the lock.
pub fn checked(spec: RunSpec) -> Result<RunSpec, Failure> {
    let named = spec.scenario_named().to_owned();
    spec.resolved().map_err(|refused| {
        // The error names the flag that made the scenario invalid, or the scenario if no flag did.
        let file = refused.culprit.map_or(named, flag_of);
        Failure::from(ScenarioError {
            file,
            ..*refused.error
        })
    })
}

/// Returns the flag of an override, with its value.
pub fn flag_of(one: Override) -> String {
    match one {
        Override::Workers(workers) => format!("--workers {workers}"),
        Override::Nodes(nodes) => format!("--nodes {nodes}"),
        Override::Ttl(ttl) => format!("--ttl {ttl}"),
    }
}

/// Refuses a table of expectations for an unknown lock whose name resembles a built-in one: it would never apply, and
/// the real lock would be judged by another table. `is_ours` returns `true` for the name of a lock that the command
/// tests.
///
/// # Errors
/// Returns an error that suggests the similar name.
pub fn no_mistyped_lock(
    typed: &str,
    scenario: &Scenario,
    impls: &ConfiguredLocks,
    is_ours: impl Fn(&str) -> bool,
) -> Result<(), Failure> {
    let built_in = || picklock_impls::all().map(|lock| lock.name);
    // A configuration is read only for the locks of the command.
    let is_configured = |name: &str| {
        let others = ConfiguredLocks::for_names(None, [&NamedLock::plain(name)]);
        impls.get(name).is_some() || others.is_ok_and(|others| others.get(name).is_some())
    };
    for name in scenario.expect.keys().filter(|name| !is_ours(name)) {
        if name == OTHERS || built_in().any(|known| known == name) || is_configured(name) {
            continue;
        }
        if let Some(hint) = did_you_mean(name, built_in()) {
            return Err(Failure::Usage(inert!(
                "{}: [expect.{}]: no lock has this name\n  = help: {}",
                typed,
                name,
                Inert::lines(&hint)
            )));
        }
    }
    Ok(())
}

/// Returns advice about a text that contains the names of several scenarios, or a part of a command line.
fn several_or_stray(name: &str) -> Option<String> {
    if name.contains(['*', ',']) {
        return Some(format!(
            "one run has one scenario; `picklock matrix --scenario '{name}'` runs several"
        ));
    }
    let is_file = Path::new(name).extension().is_some() && Path::new(name).is_file();
    is_file.then(|| {
        "your own scenario ends in .toml; a command of several words is one word in quotes, as in --impl \"exec:python3 my_lock.py\"".to_owned()
    })
}

/// Loads a scenario from the catalog, or from a file.
///
/// # Errors
/// Returns an error if the name is unknown, or if the file is invalid.
pub fn load(name: &str) -> Result<Scenario, Failure> {
    let is_path = Path::new(name)
        .extension()
        .is_some_and(|ending| ending == "toml");
    if !is_path {
        return catalog::named(name).map_err(|error| match several_or_stray(name) {
            Some(hint) => Failure::from(ScenarioError {
                hint: Some(hint),
                ..error
            }),
            None => error.into(),
        });
    }
    let text = untrusted_file::read(Path::new(name), MAX_TEXT_LENGTH, Links::Followed)
        .map_err(|error| Failure::Usage(inert!("{}: cannot read the scenario: {}", name, error)))?;
    Ok(Scenario::parse(&text, name)?)
}

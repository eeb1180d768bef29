//! What the user asks to run, checked before anything starts.

use std::path::Path;

use picklock_harness::entropy;
use picklock_harness::spec::{
    LockSpec, Override, Overrides, ResolveError, RunSpec, ScenarioSource, ServerChoice,
    resolve_scenario,
};
use picklock_scenarios::{BackendName, Scenario, ScenarioError, catalog};

use crate::cli::ScenarioArgs;
use crate::configuration::configured_locks::ConfiguredLocks;
use crate::exit::Failure;
use crate::lock;
use crate::untrusted_file::{self, LONGEST_TEXT, Links};

/// A run specification without a backend. The backend is chosen later, by what the machine offers.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The lock.
    pub lock: LockSpec,
    /// The scenario with its overrides.
    pub scenario: Scenario,
    /// The servers that the user chose.
    pub servers: ServerChoice,
    /// Seed of the run.
    pub seed: u64,
    source: ScenarioSource,
    overrides: Overrides,
}

impl RunRequest {
    /// The request of a `picklock scenario` command line.
    ///
    /// # Errors
    /// The command line or the scenario file is invalid.
    pub fn of_args(args: &ScenarioArgs) -> Result<RunRequest, Failure> {
        let named = args.lock.named();
        let impls = ConfiguredLocks::for_names(args.config.config.as_deref(), [&named])?;
        let lock = lock::named(&named, &args.options, &impls)?;
        let scenario = load(&args.scenario)?;
        let overrides = Overrides {
            workers: args.workers,
            nodes: args.nodes,
            ttl: args.ttl,
        };
        let source = ScenarioSource::Named(args.scenario.clone());
        let servers = args.servers.choice();
        let seed = match args.seed {
            Some(seed) => seed,
            None => entropy::fresh_seed()
                .map_err(|error| Failure::Environment(format!("no entropy: {error}")))?,
        };
        RunRequest::new(lock, scenario, source, overrides, servers, seed)
    }

    /// Checks the scenario with its overrides against the lock.
    ///
    /// # Errors
    /// They do not fit.
    pub fn new(
        lock: LockSpec,
        scenario: Scenario,
        source: ScenarioSource,
        overrides: Overrides,
        servers: ServerChoice,
        seed: u64,
    ) -> Result<RunRequest, Failure> {
        let named = match &source {
            ScenarioSource::Named(named) | ScenarioSource::Repro { named, .. } => named.clone(),
            ScenarioSource::Program => scenario.name.clone(),
        };
        let scenario = resolve_scenario(scenario, &lock, overrides)
            .map_err(|refused| misfit(refused, named))?;
        Ok(RunRequest {
            lock,
            scenario,
            servers,
            seed,
            source,
            overrides,
        })
    }

    /// The same request with another source of its scenario.
    #[must_use]
    pub fn with_source(self, source: ScenarioSource) -> RunRequest {
        RunRequest { source, ..self }
    }

    /// The whole specification.
    pub fn in_backend(self, backend: BackendName) -> RunSpec {
        RunSpec {
            lock: self.lock,
            scenario: self.scenario,
            source: self.source,
            backend,
            servers: self.servers,
            seed: self.seed,
            overrides: self.overrides,
        }
    }
}

/// Blames the flag that made the scenario invalid, else the scenario.
fn misfit(refused: ResolveError, named: String) -> Failure {
    let ResolveError { culprit, error } = refused;
    let file = culprit.map_or(named, flag_of);
    Failure::Usage(ScenarioError { file, ..*error }.to_string())
}

/// The flag that an override came from, with its value.
pub fn flag_of(one: Override) -> String {
    match one {
        Override::Workers(workers) => format!("--workers {workers}"),
        Override::Nodes(nodes) => format!("--nodes {nodes}"),
        Override::Ttl(ttl) => format!("--ttl {ttl}"),
    }
}

/// A scenario from the catalog, or from a file.
///
/// # Errors
/// The name is unknown, or the file is invalid.
pub fn load(name: &str) -> Result<Scenario, Failure> {
    let bad = |error: ScenarioError| Failure::Usage(error.to_string());
    let is_path = Path::new(name)
        .extension()
        .is_some_and(|ending| ending == "toml");
    if !is_path {
        return catalog::named(name).map_err(bad);
    }
    let text = untrusted_file::read(Path::new(name), LONGEST_TEXT, Links::Followed)
        .map_err(|error| Failure::Usage(format!("{name}: cannot read the scenario: {error}")))?;
    Scenario::parse(&text, name).map_err(bad)
}

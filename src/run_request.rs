//! What the user asks to run, checked before anything starts.

use std::path::Path;

use picklock_harness::entropy;
use picklock_harness::spec::{
    Override, Overrides, ResolveError, RunSpec, ScenarioSource, ServerChoice, SubjectSpec,
    resolve_scenario,
};
use picklock_scenarios::{Scenario, ScenarioError, WorldName, catalog};

use crate::cli::ScenarioArgs;
use crate::configuration::configured_impls::ConfiguredImpls;
use crate::exit::Failure;
use crate::regular_file::{self, LONGEST_TEXT, Links};
use crate::subject;

/// A run specification without a world. The world is chosen later, by what the machine offers.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The lock.
    pub subject: SubjectSpec,
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
        let named = args.subject.named();
        let impls = ConfiguredImpls::for_names(args.config.config.as_deref(), [&named])?;
        let subject = subject::named(&named, &args.options, &impls)?;
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
        RunRequest::new(subject, scenario, source, overrides, servers, seed)
    }

    /// Checks the scenario with its overrides against the subject.
    ///
    /// # Errors
    /// They do not fit.
    pub fn new(
        subject: SubjectSpec,
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
        let scenario = resolve_scenario(scenario, &subject, overrides)
            .map_err(|refused| misfit(refused, named))?;
        Ok(RunRequest {
            subject,
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
    pub fn in_world(self, world: WorldName) -> RunSpec {
        RunSpec {
            subject: self.subject,
            scenario: self.scenario,
            source: self.source,
            world,
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
    let text = regular_file::read(Path::new(name), LONGEST_TEXT, Links::Followed)
        .map_err(|error| Failure::Usage(format!("{name}: cannot read the scenario: {error}")))?;
    Scenario::parse(&text, name).map_err(bad)
}

//! The request for a matrix, from the command line.

use picklock_harness::spec::{LockSpec, Overrides, ServerChoice};
use picklock_impls::find;
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_scenarios::profile::{self, Declaration, Profile};
use picklock_scenarios::{BackendName, Scenario, catalog};

use super::cli::MatrixArgs;
use crate::backend_choice;
use crate::configuration::configured_locks::ConfiguredLocks;
use crate::exit::Failure;
use crate::name_pattern;
use crate::named_lock::NamedLock;
use crate::reference_lock;

/// The cells to run, and the number of runs of each.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixRequest {
    /// The locks, or empty for all built-in ones.
    pub locks: Vec<NamedLock>,
    /// The scenarios that the user named, by name or path. If there are none, and no profile, the whole catalog is run.
    pub scenarios: Vec<String>,
    /// The profile that chooses further scenarios for each lock.
    pub profile: Option<&'static Profile>,
    /// The backends, with `None` for the best available one.
    pub backends: Vec<Option<BackendName>>,
    /// Options of the lock, if there is only one lock.
    pub options: Vec<(String, String)>,
    pub overrides: Overrides,
    /// Number of runs per cell.
    pub seeds: u64,
    /// Seed of each cell's first run.
    pub seed: u64,
    /// Number of parallel runs, or `None` for the default of the backend.
    pub jobs: Option<usize>,
    pub servers: ServerChoice,
    /// The built-in lock whose results the locks without expectations must reach.
    pub reference: Option<String>,
    /// The configured locks, for names that are not built in.
    pub impls: ConfiguredLocks,
}

impl MatrixRequest {
    /// Reads the request from the command line of `picklock matrix`.
    ///
    /// # Errors
    /// Returns an error if the configuration cannot be read or contains a mistake, or if `--reference` does not name a
    /// built-in lock.
    pub fn from_args(args: &MatrixArgs) -> Result<MatrixRequest, Failure> {
        if let Some(reference) = &args.reference {
            let wrong = |problem: String| {
                Failure::Usage(inert!(
                    "--reference {}: {}",
                    reference,
                    Inert::lines(&problem)
                ))
            };
            reference_lock::check(reference).map_err(wrong)?;
        }
        let mut backends: Vec<_> = args.backends.iter().map(|it| it.backend()).collect();
        if backends.is_empty() {
            backends.push(None);
        }
        let servers = backend_choice::servers(&args.servers, &args.config, &backends)?;
        let plain = name_pattern::locks(&args.locks)?;
        let plain = plain.iter().map(|name| NamedLock::plain(name));
        let locks: Vec<NamedLock> = plain.chain(args.labelled.iter().cloned()).collect();
        let scenarios = name_pattern::scenarios(&args.scenarios)?;
        Ok(MatrixRequest {
            impls: ConfiguredLocks::for_names(args.config.config.as_deref(), &locks)?,
            locks,
            scenarios,
            profile: args.profile.as_deref().and_then(profile::named),
            reference: args.reference.clone(),
            backends,
            options: args.options.clone(),
            overrides: Overrides {
                workers: None,
                nodes: args.nodes,
                ttl: args.ttl,
            },
            seeds: args.seeds,
            seed: args.seed,
            jobs: args.jobs,
            servers,
        })
    }

    /// Returns the names and paths of the scenarios to run: those of the profile, followed by the others that the user
    /// named, or the whole catalog if there are none.
    pub fn all_scenarios(&self) -> Vec<String> {
        let of_profile = self.profile.into_iter().flat_map(Profile::names);
        let mut names: Vec<String> = of_profile.map(str::to_owned).collect();
        for name in &self.scenarios {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        if names.is_empty() {
            return catalog::names().map(str::to_owned).collect();
        }
        names
    }

    /// Returns `true` if the lock should not run the scenario, because the scenario is for another kind of lock, or
    /// because the profile omits it for this lock. A scenario that the user named is never left out.
    pub fn leaves_out(&self, name: &String, scenario: &Scenario, lock: &LockSpec) -> bool {
        if self.scenarios.contains(name) {
            return false;
        }
        // A built-in lock does not declare whether it renews.
        let renews = (!lock.is_in_process()).then_some(lock.renews);
        let nodes = self.overrides.nodes.unwrap_or(lock.nodes);
        let kind = lock.kind.unwrap_or_default();
        let declared = Declaration {
            renews,
            nodes,
            kind,
        };
        kind != scenario.workload.kind.lock_kind()
            || self
                .profile
                .is_some_and(|profile| !profile.includes(name, declared))
    }

    /// Returns `true` if the user chose the scenarios.
    pub fn names_scenarios(&self) -> bool {
        self.profile.is_some() || !self.scenarios.is_empty()
    }

    /// Returns the number of parallel runs: the user's choice, otherwise the default of the backend. A simulation needs
    /// a CPU. A run on server processes mostly waits, unless the workers are programs that need seconds of CPU time to
    /// start, as in Java. Starting five containers needs CPU time too.
    pub fn jobs_in(&self, backend: BackendName) -> usize {
        let built_in = self.locks.iter().all(|lock| find(lock.given()).is_some());
        self.jobs.unwrap_or_else(|| match backend {
            BackendName::Process if built_in => 2 * processors(),
            // The servers have other users, and runs may share a prefix.
            BackendName::External => 1,
            _ => processors(),
        })
    }

    /// Returns the number of parallel runs if they turn out to need little CPU time.
    pub fn max_jobs_in(&self, backend: BackendName) -> usize {
        let jobs = self.jobs_in(backend);
        match (self.jobs, backend) {
            (None, BackendName::Process) => jobs.max(2 * processors()),
            _ => jobs,
        }
    }
}

/// Returns the number of CPUs of this machine.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

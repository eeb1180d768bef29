//! Tests your own lock in a scenario, from your own test. `docs/trial.md` has a complete example.
//!
//! A trial simulates one scenario with many seeds. It needs no Redis and no runtime. It also works inside a runtime
//! (`#[tokio::test]`), because the runs have their own thread and runtime, for which the calling thread waits. With
//! [`Trial::on_redis`] the same trial runs on real Redis servers, with one process per worker.
//!
//! ```
//! use std::time::Duration;
//! use picklock_harness::Trial;
//! use picklock_harness::check::Property;
//! use picklock_harness::impls::{Context, Grant, Lock, LockError, Node};
//! use picklock_harness::redis;
//!
//! struct MyLock(Node, u64);
//!
//! impl Lock for MyLock {
//!     async fn acquire(
//!         &mut self,
//!         key: &str,
//!         ttl: Duration,
//!         _wait: Duration,
//!     ) -> Result<Option<Grant>, LockError> {
//!         self.1 += 1;
//!         let token = format!("{}", self.1);
//!         let taken: bool = redis::cmd("SET")
//!             .arg(key).arg(&token).arg("NX").arg("PX").arg(ttl.as_millis() as u64)
//!             .query_async(&mut self.0)
//!             .await?;
//!         Ok(taken.then_some(Grant { token, fence: None, valid_until: None }))
//!     }
//!
//!     async fn release(&mut self, key: &str, _: &Grant) -> Result<bool, LockError> {
//!         // Deletes the key even if another client holds the lock by now.
//!         Ok(redis::cmd("DEL").arg(key).query_async(&mut self.0).await?)
//!     }
//! }
//!
//! let build = |nodes: Vec<Node>, _: Context| MyLock(nodes.into_iter().next().unwrap(), 0);
//!
//! // The lock works as long as no fault occurs.
//! let calm = Trial::scenario("calm")?.seeds(0..5).run("my-lock", 1, build)?;
//! calm.assert_held(Property::Lease);
//!
//! // A holder that sleeps past its lease deletes the next holder's lock.
//! let paused = Trial::scenario("gc-pause")?.seeds(0..5).run("my-lock", 1, build)?;
//! let theft = paused.violation(Property::Ownership).expect("it releases without looking");
//! println!("seed {}: {}", theft.seed, theft.verdicts[&Property::Ownership].story.join("\n"));
//! # Ok::<(), picklock_harness::TrialError>(())
//! ```

mod error;
mod outcome;
mod saved_run;
mod search;
#[cfg(feature = "servers")]
mod servers;
#[cfg(feature = "servers")]
mod worker_entry;

use std::collections::BTreeMap;
#[cfg(feature = "servers")]
use std::path::PathBuf;

pub use error::TrialError;
pub use outcome::{Outcome, TrialRun};
use picklock_impls::{Context, Lock, Node};
use picklock_scenarios::{BackendName, Scenario, catalog};
pub use search::{Found, Searched};
#[cfg(feature = "servers")]
pub use servers::serve_worker;
#[cfg(feature = "servers")]
pub use worker_entry::{WorkerEntry, WorkerError};

use crate::lock_factory::LockFactory;
use crate::run::RunFailure;
use crate::search::Target;
use crate::sim::{Simulation, run as simulate};
use crate::spec::{Overrides, RunSpec, ScenarioSource, ServerChoice};

/// Default number of seeds.
const SEEDS: u64 = 20;

/// A scenario, the seeds with which it is run, and the backend.
#[derive(Debug, Clone)]
pub struct Trial {
    scenario: Scenario,
    source: ScenarioSource,
    /// The code that creates the trial, for repeating it.
    code: String,
    seeds: Vec<u64>,
    options: BTreeMap<String, String>,
    overrides: Overrides,
    servers: ServerChoice,
    /// The entry point of the worker processes, or `None` if the trial is simulated.
    #[cfg(feature = "servers")]
    workers_from: Option<WorkerEntry>,
}

impl Trial {
    /// Creates a trial of a catalog scenario.
    ///
    /// # Errors
    /// Returns an error if the scenario does not exist. The error names the most similar scenario.
    pub fn scenario(name: &str) -> Result<Self, TrialError> {
        Ok(Trial {
            code: format!("Trial::scenario({name:?})?"),
            source: ScenarioSource::Named(name.to_owned()),
            ..Trial::from_scenario(catalog::named(name)?)
        })
    }

    /// Creates a trial of your own scenario, given as the text of its file.
    ///
    /// # Errors
    /// Returns an error with the position in the text if the text is invalid.
    pub fn from_toml(text: &str) -> Result<Self, TrialError> {
        Ok(Trial::from_scenario(Scenario::parse(text, "the scenario")?))
    }

    /// Creates a trial of a scenario that a program created.
    pub fn from_scenario(scenario: Scenario) -> Self {
        Trial {
            code: format!("the trial of `{}`", scenario.name),
            scenario,
            source: ScenarioSource::Program,
            seeds: (0..SEEDS).collect(),
            options: BTreeMap::new(),
            overrides: Overrides::default(),
            servers: ServerChoice::default(),
            #[cfg(feature = "servers")]
            workers_from: None,
        }
    }

    /// Returns the scenario. Its `expect` contains the catalog's expectations per lock.
    pub fn planned_scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Sets the seeds. There is one run for each seed. The default is twenty seeds. In the simulation the same seed
    /// produces the same run.
    #[must_use]
    pub fn seeds(mut self, seeds: impl IntoIterator<Item = u64>) -> Self {
        self.seeds = seeds.into_iter().collect();
        self
    }

    /// Sets an option of the lock, like `--impl-option`; `picklock list impls` shows the options.
    /// Your own lock has the options given to [`LockFactory::with_options`].
    #[must_use]
    pub fn option(mut self, name: &str, value: &str) -> Self {
        self.code = format!("{}.option({name:?}, {value:?})", self.code);
        self.options.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Sets the number of competing clients.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.code = format!("{}.workers({workers})", self.code);
        self.overrides.workers = Some(workers);
        self
    }

    /// Runs the trial on real `redis-server` processes instead of simulating it. Each worker is a separate process, so
    /// that a fault can freeze or kill a whole client. The lock's code is part of this binary, so each worker is
    /// another process of this binary. `entry` states where the binary calls [`serve_worker`].
    ///
    /// The runs are executed one after the other in real time, and no two are the same, so choose few seeds. If the
    /// machine was too slow for a run, the run is repeated up to three times.
    ///
    /// ```no_run
    /// use picklock_harness::Trial;
    /// use picklock_harness::check::Property;
    /// use picklock_harness::lock_factory::LockFactory;
    /// use picklock_harness::trial::{WorkerEntry, serve_worker};
    /// # use picklock_impls::{Context, Node};
    ///
    /// fn my_lock() -> LockFactory {
    /// #   let lock = picklock_impls::find("set-nx-px").unwrap();
    /// #   LockFactory::built_in(lock)
    ///     // LockFactory::new("my-lock", 1, MyLock::new)
    /// }
    ///
    /// fn main() -> Result<(), picklock_harness::TrialError> {
    ///     if serve_worker(&[my_lock()])? {
    ///         return Ok(());
    ///     }
    ///     let trial = Trial::scenario("gc-pause")?.seeds([1]).on_redis(WorkerEntry::main());
    ///     trial.run_lock(&my_lock())?.assert_held(Property::Ownership);
    ///     Ok(())
    /// }
    /// ```
    #[cfg(feature = "servers")]
    #[must_use]
    pub fn on_redis(mut self, entry: WorkerEntry) -> Self {
        self.code = format!("{}.on_redis({})", self.code, entry.code());
        self.workers_from = Some(entry);
        self
    }

    /// Sets the server binary for [`Trial::on_redis`]. The default is the first one on `PATH`.
    #[cfg(feature = "servers")]
    #[must_use]
    pub fn redis_server(mut self, path: impl Into<PathBuf>) -> Self {
        self.servers.redis_server = Some(path.into());
        self
    }

    /// Runs the scenario once for each seed. `build` creates one client of the lock on `nodes` independent nodes.
    /// `build` is called once for each worker, and again for each restart of a crashed worker. On real servers the
    /// workers call the `build` that was passed to [`serve_worker`] under the same name.
    ///
    /// # Errors
    /// Returns an error if the scenario does not fit the lock, or if a run produced no history. A
    /// violated property is not an error.
    pub fn run<L: Lock + 'static>(
        &self,
        name: &str,
        nodes: usize,
        build: impl Fn(Vec<Node>, Context) -> L + Send + Sync + 'static,
    ) -> Result<Outcome, TrialError> {
        self.run_lock(&LockFactory::new(name, nodes, build))
    }

    /// Runs the scenario with an existing lock, such as a built-in one.
    ///
    /// # Errors
    /// As [`Trial::run`].
    pub fn run_lock(&self, lock: &LockFactory) -> Result<Outcome, TrialError> {
        let spec = self.spec(lock)?;
        let specs = self.seeds.iter().map(|seed| spec.with_seed(*seed));
        Ok(Outcome {
            runs: self.run_all(specs.collect(), lock)?,
            scenario: self.scenario.clone(),
            code: self.code.clone(),
            lock: lock.clone(),
            spec,
        })
    }

    /// Places every fault at every injection point of the trial's own servers and workload, with its first seed: first
    /// all single faults, then all pairs, up to `depth`. The faults of the trial's scenario are left out, and all runs
    /// are simulated. A client that outlives its lease does not count as a counterexample to `exclusion`.
    ///
    /// # Errors
    /// Returns an error if the scenario does not fit the lock, or if its run without faults produces no history.
    pub fn sweep(&self, lock: &LockFactory, depth: usize) -> Result<Searched, TrialError> {
        let first = self.first(lock)?;
        search::sweep(self.target(lock), first.scenario, first.seed, depth)
    }

    /// Tries `runs` random plans on the trial's own servers. Most of them have faults at events where locks tend to
    /// break. All runs are simulated.
    ///
    /// # Errors
    /// As [`Trial::sweep`].
    pub fn hunt(&self, lock: &LockFactory, runs: u64) -> Result<Searched, TrialError> {
        let first = self.first(lock)?;
        search::hunt(self.target(lock), first.scenario, first.seed, runs)
    }

    fn first(&self, lock: &LockFactory) -> Result<RunSpec, TrialError> {
        let spec = self.spec(lock)?;
        let seed = self.seeds.first().ok_or(TrialError::NoSeeds)?;
        Ok(spec.with_seed(*seed))
    }

    fn target(&self, lock: &LockFactory) -> Target {
        Target {
            lock: lock.clone(),
            spec: lock.spec_with(&self.options),
            servers: self.servers.for_backend(BackendName::Sim),
        }
    }

    /// Returns the specification of all runs, which only differ in their seeds.
    fn spec(&self, lock: &LockFactory) -> Result<RunSpec, TrialError> {
        let spec = RunSpec {
            source: self.source.clone(),
            backend: self.backend(),
            servers: self.servers.clone(),
            overrides: self.overrides,
            ..RunSpec::simulated(lock.spec_with(&self.options), self.scenario.clone(), 0)
        };
        let spec = spec.resolved().map_err(|refused| *refused.error)?;
        if let Err(source) = lock.read_options(&self.options) {
            return Err(TrialError::from_option(source));
        }
        if self.seeds.is_empty() {
            return Err(TrialError::NoSeeds);
        }
        Ok(spec)
    }

    fn backend(&self) -> BackendName {
        #[cfg(feature = "servers")]
        if self.workers_from.is_some() {
            return BackendName::Process;
        }
        BackendName::Sim
    }

    fn run_all(
        &self,
        specs: Vec<RunSpec>,
        lock: &LockFactory,
    ) -> Result<Vec<TrialRun>, TrialError> {
        #[cfg(feature = "servers")]
        if let Some(entry) = &self.workers_from {
            return servers::run_all(specs, entry);
        }
        let runs = specs.into_iter().map(|spec| {
            let seed = spec.seed;
            let result = simulate(Simulation {
                spec,
                lock: lock.clone(),
                logs_commands: false,
            });
            TrialRun::new(seed, result.map_err(RunFailure::from))
        });
        runs.collect()
    }
}

//! The specification of a run: one value that says what is run, before anything starts.
//!
//! Every command that runs something makes such values, and [`run`](crate::run) is the one entry
//! that takes them. A specification holds data only: no type of a command line, no open file, no
//! code of a lock.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use picklock_scenarios::{BackendName, LeaseDuration, Scenario, ScenarioError};

use crate::adapter::worker_command::WorkerCommand;
use crate::check::NOTABLE_DELAY;
use crate::clock::millis;
use crate::external_servers::{DEFAULT_PREFIX, ExternalServers};
use crate::model::ServerVersion;
use crate::named_server::NamedServer;

/// What is run, complete: the same specification in the simulation gives the same history. Driver,
/// nemesis and backends read it, and everything that follows from it, from this one value.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSpec {
    /// The lock under test.
    pub lock: LockSpec,
    /// The scenario as it is run: see [`resolve_scenario`].
    pub scenario: Scenario,
    /// Where the scenario came from.
    pub source: ScenarioSource,
    /// The backend to run in.
    pub backend: BackendName,
    /// Which servers the user chose.
    pub servers: ServerChoice,
    /// Seed for tokens, delays and choices.
    pub seed: u64,
    /// What was changed in the scenario.
    pub overrides: Overrides,
}

/// The lock under test, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockSpec {
    /// What the lock is called in reports: its own name, the label that the user gave a program, or
    /// what was typed to name it.
    pub name: String,
    /// What was typed to name a program whose `name` is a label.
    pub typed: Option<String>,
    /// The configuration whose table `[impl.NAME]` says what the lock is; `None`: the name says it.
    pub configuration: Option<PathBuf>,
    /// Its options, in the order in which they were given.
    pub options: Vec<(String, String)>,
    /// How many independent nodes it wants, unless the scenario says otherwise.
    pub nodes: usize,
    /// How many replicas of each node it needs at least.
    pub replicas: usize,
    /// It promises to renew its lease while its client works.
    pub renews: bool,
    /// It needs all of its nodes, and not a majority.
    pub needs_every_node: bool,
    /// What starts a program that speaks the adapter protocol; `None` for a lock whose code is in
    /// this process.
    pub command: Option<WorkerCommand>,
}

impl LockSpec {
    /// True for a lock whose code is in this process. Only such a lock can be simulated.
    pub fn is_in_process(&self) -> bool {
        self.command.is_none()
    }

    /// Its options by name.
    pub fn options_by_name(&self) -> BTreeMap<String, String> {
        self.options.iter().cloned().collect()
    }
}

/// Where a scenario came from, which decides how a run is repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioSource {
    /// A name of the catalog, or the path of a scenario file, as it was given.
    Named(String),
    /// A repro file, which alone still has the scenario.
    Repro {
        /// What named the scenario when the file was written.
        named: String,
        /// The file.
        file: PathBuf,
    },
    /// A program made it. No name leads to it.
    Program,
}

/// Which servers a run uses. `None` leaves the choice to Picklock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerChoice {
    /// A server by its name, for every backend. In a backend for which `image` or `redis_server` is
    /// given as well, that decides.
    pub named: Option<NamedServer>,
    /// Container image of the nodes.
    pub image: Option<String>,
    /// The server's binary for the process backend.
    pub redis_server: Option<PathBuf>,
    /// Servers that somebody else has started.
    pub external: Option<ExternalServers>,
}

impl ServerChoice {
    /// The part of the choice that applies to this backend.
    #[must_use]
    pub fn for_backend(&self, backend: BackendName) -> ServerChoice {
        let mut choice = self.clone();
        choice.image.take_if(|_| backend != BackendName::Docker);
        (choice.redis_server).take_if(|_| backend != BackendName::Process);
        (choice.external).take_if(|_| backend != BackendName::External);
        choice
    }

    /// This choice, completed by an older one. A name replaces the whole older choice, because it
    /// is for every backend.
    #[must_use]
    pub fn or(self, older: ServerChoice) -> ServerChoice {
        if self.named.is_some() {
            return self;
        }
        ServerChoice {
            named: older.named,
            image: self.image.or(older.image),
            redis_server: self.redis_server.or(older.redis_server),
            external: self.external.or(older.external),
        }
    }
}

/// What is changed in a scenario for one run. `None` keeps what the scenario says.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Overrides {
    /// Number of competing workers.
    pub workers: Option<usize>,
    /// Number of independent nodes.
    pub nodes: Option<usize>,
    /// Lease time.
    pub ttl: Option<LeaseDuration>,
}

/// The scenario cannot be run as asked.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct ResolveError {
    /// The override that made it so; `None`: the scenario itself does not fit the lock.
    pub culprit: Option<Override>,
    /// What is wrong.
    pub error: Box<ScenarioError>,
}

/// One of the [`Overrides`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Override {
    /// Number of competing workers.
    Workers(usize),
    /// Number of independent nodes.
    Nodes(usize),
    /// Lease time.
    Ttl(LeaseDuration),
}

/// The scenario as it is run: with the overrides, and with as many replicas as the lock needs.
/// Resolving it again changes nothing.
///
/// # Errors
/// The result makes no sense; the first override after which it does not is the culprit.
pub fn resolve_scenario(
    mut scenario: Scenario,
    lock: &LockSpec,
    overrides: Overrides,
) -> Result<Scenario, ResolveError> {
    let check = |scenario: &Scenario, culprit| {
        let checked = scenario.check_for(lock.nodes).map_err(Box::new);
        checked.map_err(|error| ResolveError { culprit, error })
    };
    let topology = &mut scenario.topology;
    topology.replicas = topology.replicas.max(lock.replicas);
    if let Some(nodes) = overrides.nodes {
        scenario.topology.nodes = Some(nodes);
        check(&scenario, Some(Override::Nodes(nodes)))?;
    }
    check(&scenario, None)?;
    if let Some(workers) = overrides.workers {
        scenario.workload.workers = workers;
        check(&scenario, Some(Override::Workers(workers)))?;
    }
    if let Some(ttl) = overrides.ttl {
        scenario.workload.ttl = ttl;
        check(&scenario, Some(Override::Ttl(ttl)))?;
    }
    Ok(scenario)
}

impl RunSpec {
    /// A scenario that a program made, in the simulation and without overrides.
    pub fn simulated(lock: LockSpec, scenario: Scenario, seed: u64) -> RunSpec {
        RunSpec {
            lock,
            scenario,
            source: ScenarioSource::Program,
            backend: BackendName::Sim,
            servers: ServerChoice::default(),
            seed,
            overrides: Overrides::default(),
        }
    }

    /// The same run with its scenario as it is run: see [`resolve_scenario`].
    ///
    /// # Errors
    /// The scenario with the overrides does not fit the lock.
    pub fn resolved(self) -> Result<RunSpec, ResolveError> {
        let scenario = resolve_scenario(self.scenario, &self.lock, self.overrides)?;
        Ok(RunSpec { scenario, ..self })
    }

    /// The same run with another seed.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> RunSpec {
        RunSpec {
            seed,
            ..self.clone()
        }
    }

    /// What named the scenario: a name of the catalog or a path. The scenario's own name where a
    /// program made it.
    pub fn scenario_named(&self) -> &str {
        match &self.source {
            ScenarioSource::Named(named) | ScenarioSource::Repro { named, .. } => named,
            ScenarioSource::Program => &self.scenario.name,
        }
    }

    /// Lease time. A checked scenario has an absolute one.
    pub fn ttl(&self) -> Duration {
        self.scenario.workload.ttl.resolve(Duration::ZERO)
    }

    /// Lease time in milliseconds.
    pub fn ttl_ms(&self) -> u64 {
        millis(self.ttl())
    }

    /// The shortest time that matters where the machine was late.
    pub fn shortest_delay(&self) -> Duration {
        self.ttl() / NOTABLE_DELAY.divisor
    }

    /// How long a client's command waits for an answer before it fails.
    pub fn command_timeout(&self) -> Duration {
        self.scenario.workload.command_timeout.resolve(self.ttl())
    }

    /// The longest time that the scenario's own faults can keep a worker from answering.
    pub fn longest_fault(&self) -> Duration {
        let faults = self.scenario.faults.iter();
        let spans = faults.filter_map(|fault| fault.duration);
        spans.map(|span| span.resolve(self.ttl())).sum()
    }

    /// Number of independent nodes.
    pub fn nodes(&self) -> usize {
        self.scenario.topology.nodes.unwrap_or(self.lock.nodes)
    }

    /// How many of the nodes the lock needs; `None`: a majority.
    ///
    /// A lock whose code is here and that wants one node uses one, however many there are. Which of
    /// them is not known here, so it counts as needing them all. A program may say that it needs all of its nodes.
    pub fn quorum(&self) -> Option<usize> {
        (self.uses_one_of_many() || self.lock.needs_every_node).then_some(self.nodes())
    }

    fn uses_one_of_many(&self) -> bool {
        self.lock.is_in_process() && self.lock.nodes == 1 && self.nodes() > 1
    }

    /// On how many nodes the lock has to be taken. One that uses one node does not say which.
    pub fn needed_nodes(&self) -> usize {
        match self.uses_one_of_many() {
            true => 1,
            false => self.quorum().unwrap_or(self.nodes() / 2 + 1),
        }
    }

    /// The name of a lock's key. All names have the same length, so that none is a prefix of another.
    pub fn key(&self, number: u32) -> String {
        format!("{}stock:{number:04}", self.key_prefix())
    }

    /// What the names of the keys begin with that programs warm up with. No lock rests on them.
    pub fn warm_up_prefix(&self) -> String {
        format!("{}warm-up:", self.key_prefix())
    }

    /// What the names of all keys of the run begin with.
    pub fn key_prefix(&self) -> String {
        let external = self.servers.external.as_ref();
        external.map_or(DEFAULT_PREFIX.to_owned(), ExternalServers::key_prefix)
    }

    /// The names of all keys.
    pub fn keys(&self) -> Vec<String> {
        let numbers = (0..).take(self.scenario.workload.keys);
        numbers.map(|number| self.key(number)).collect()
    }

    /// Which server a simulation models.
    pub fn model(&self) -> ServerVersion {
        let named = self.servers.named;
        named.map(NamedServer::version).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use picklock_scenarios::catalog;

    use super::*;

    fn lock(nodes: usize, replicas: usize) -> LockSpec {
        LockSpec {
            name: "any".into(),
            typed: None,
            configuration: None,
            options: Vec::new(),
            nodes,
            replicas,
            renews: false,
            needs_every_node: false,
            command: None,
        }
    }

    #[test]
    fn a_resolved_scenario_of_the_catalog_has_an_absolute_ttl() {
        for name in catalog::names() {
            let scenario = catalog::named(name).unwrap();
            let topology = &scenario.topology;
            let nodes = topology.nodes.or(topology.min_nodes).unwrap_or(1);
            let lock = lock(nodes, 0);
            let scenario = resolve_scenario(scenario, &lock, Overrides::default()).unwrap();
            assert!(
                !RunSpec::simulated(lock, scenario, 0).ttl().is_zero(),
                "{name}"
            );
        }
    }

    #[test]
    fn resolving_applies_overrides_and_replicas_and_changes_nothing_the_second_time() {
        let lock = lock(1, 2);
        let overrides = Overrides {
            workers: Some(3),
            nodes: Some(2),
            ttl: Some(LeaseDuration::Absolute(Duration::from_millis(1500))),
        };
        let once = RunSpec {
            overrides,
            ..RunSpec::simulated(lock, catalog::named("calm").unwrap(), 0)
        };
        let once = once.resolved().unwrap();
        assert_eq!(once.clone().resolved().unwrap(), once);
        assert_eq!(once.nodes(), 2);
        assert_eq!(once.ttl(), Duration::from_millis(1500));
        assert_eq!(once.scenario.workload.workers, 3);
        assert_eq!(once.scenario.topology.replicas, 2);
    }

    #[test]
    fn quorum_is_a_majority_unless_the_lock_needs_every_node_or_uses_one_of_many() {
        let numbers = |lock: LockSpec, command: Option<WorkerCommand>, nodes| {
            let lock = LockSpec { command, ..lock };
            let mut scenario = catalog::named("calm").unwrap();
            scenario.topology.nodes = nodes;
            let spec = RunSpec::simulated(lock, scenario, 0);
            (spec.quorum(), spec.needed_nodes())
        };
        let program = || Some(WorkerCommand::new(vec!["lock".into()]));
        let every = || LockSpec {
            needs_every_node: true,
            ..lock(3, 0)
        };
        assert_eq!(numbers(lock(3, 0), program(), None), (None, 2));
        assert_eq!(numbers(every(), program(), None), (Some(3), 3));
        assert_eq!(numbers(every(), program(), Some(5)), (Some(5), 5));
        assert_eq!(numbers(lock(1, 0), None, Some(5)), (Some(5), 1));
    }

    #[test]
    fn a_name_replaces_an_older_choice_and_a_path_completes_it() {
        let named = |name: &str| ServerChoice {
            named: Some(name.parse().unwrap()),
            ..ServerChoice::default()
        };
        let path = |path: &str| ServerChoice {
            redis_server: Some(path.into()),
            ..ServerChoice::default()
        };
        assert_eq!(named("redis:8.0").or(path("/old")), named("redis:8.0"));
        assert_eq!(path("/new").or(path("/old")), path("/new"));
        let both = path("/new").or(named("valkey:9"));
        assert_eq!((both.named, both.redis_server.clone()), {
            (named("valkey:9").named, path("/new").redis_server)
        });
        let simulated = both.for_backend(BackendName::Sim);
        assert_eq!(simulated, named("valkey:9"));
    }

    #[test]
    fn the_override_that_does_not_fit_is_the_culprit() {
        let overrides = Overrides {
            workers: Some(0),
            ..Overrides::default()
        };
        let scenario = catalog::named("calm").unwrap();
        let error = resolve_scenario(scenario, &lock(1, 0), overrides).unwrap_err();
        assert_eq!(error.culprit, Some(Override::Workers(0)));
    }
}

//! The specification of a run: a plain value that is complete before anything starts.
//!
//! Every command that runs something creates such values, and [`run`](crate::run) is the one entry point that takes
//! them. A specification contains only data: no command-line types, no open files and no code of a lock.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use picklock_scenarios::{
    BackendName, LeaseDuration, LockKind, Scenario, ScenarioError, WorkloadKind,
};

use crate::adapter::message::Mode;

use crate::adapter::worker_command::WorkerCommand;
use crate::clock::millis;
use crate::external_servers::{DEFAULT_PREFIX, ExternalServers};
use crate::history::{Declarations, RECORDED_DELAY, TickSchedule};
use crate::model::ServerVersion;
use crate::named_server::NamedServer;

/// A complete specification: simulating the same specification again produces the same history.
/// Driver, nemesis and backends take all their settings from this one value.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSpec {
    /// The lock under test.
    pub lock: LockSpec,
    /// The scenario as it is run, see [`resolve_scenario`].
    pub scenario: Scenario,
    /// The origin of the scenario.
    pub source: ScenarioSource,
    /// The backend to run in.
    pub backend: BackendName,
    /// The servers that the user chose.
    pub servers: ServerChoice,
    /// Seed for tokens, delays and choices.
    pub seed: u64,
    /// The changes to the scenario.
    pub overrides: Overrides,
}

/// The lock under test, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockSpec {
    /// Name of the lock in reports: the lock's own name, the label that the user gave a program, or
    /// the text that the user typed to name it.
    pub name: String,
    /// The text that the user typed for a program whose `name` is a label.
    pub typed: Option<String>,
    /// The configuration whose table `[impl.NAME]` defines the lock, or `None` if `name` is enough.
    pub configuration: Option<PathBuf>,
    /// The lock's options, in the order in which they were given.
    pub options: Vec<(String, String)>,
    /// Number of independent nodes that the lock requests. The scenario may override this number.
    pub nodes: usize,
    /// Minimum number of replicas of each node.
    pub replicas: usize,
    /// The kind of the lock, or `None` for a program that does not state it.
    pub kind: Option<LockKind>,
    /// Whether the lock promises to renew its lease while its client works.
    pub renews: bool,
    /// The lifetimes of keys that the lock declares.
    pub declares: Declarations,
    /// Whether the lock needs all of its nodes instead of a majority.
    pub needs_every_node: bool,
    /// The command that starts a program that speaks the adapter protocol, or `None` if the lock's
    /// code is in this process.
    pub command: Option<WorkerCommand>,
}

impl LockSpec {
    /// Creates a lock in this process on one node without replicas, without options and declarations.
    pub fn new(name: impl Into<String>) -> LockSpec {
        LockSpec {
            name: name.into(),
            typed: None,
            configuration: None,
            options: Vec::new(),
            nodes: 1,
            replicas: 0,
            kind: None,
            renews: false,
            declares: Declarations::default(),
            needs_every_node: false,
            command: None,
        }
    }

    /// Returns `true` if the lock's code is in this process. Only such a lock can be simulated.
    pub fn is_in_process(&self) -> bool {
        self.command.is_none()
    }

    /// Returns a reason if a scenario does not fit this lock because of the number of its holders, or `None` if it
    /// fits, or if the kind of the lock is unknown.
    pub fn lacks_holders(&self, scenario: &Scenario) -> Option<String> {
        let needed = scenario.workload.kind.lock_kind();
        let kind = self.kind.filter(|kind| *kind != needed)?;
        let is = match kind {
            LockKind::Mutex => "has one holder".to_owned(),
            _ => format!("is {}", kind.describe()),
        };
        Some(format!("needs {}, and the lock {is}", needed.describe()))
    }

    /// Returns the options by name.
    pub fn options_by_name(&self) -> BTreeMap<String, String> {
        self.options.iter().cloned().collect()
    }
}

/// The origin of a scenario, which decides how a run is repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioSource {
    /// A name in the catalog, or the path of a scenario file, as the user gave it.
    Named(String),
    /// A repro file. It contains the scenario, whatever happened to its original.
    Repro {
        /// The catalog name or path that the user gave when the file was written.
        named: String,
        /// The repro file.
        file: PathBuf,
    },
    /// A program created the scenario, so it has neither a catalog name nor a path.
    Program,
}

/// The servers that a run uses. Picklock chooses if a field is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerChoice {
    /// A server by name, for every backend. `image` and `redis_server` take precedence in their backends.
    pub named: Option<NamedServer>,
    /// Container image of the nodes.
    pub image: Option<String>,
    /// The server's binary for the process backend.
    pub redis_server: Option<PathBuf>,
    /// Servers that are already running.
    pub external: Option<ExternalServers>,
}

impl ServerChoice {
    /// Returns the part of the choice that applies to this backend.
    #[must_use]
    pub fn for_backend(&self, backend: BackendName) -> ServerChoice {
        let mut choice = self.clone();
        choice.image.take_if(|_| backend != BackendName::Docker);
        (choice.redis_server).take_if(|_| backend != BackendName::Process);
        (choice.external).take_if(|_| backend != BackendName::External);
        choice
    }

    /// Returns this choice, completed from an older one. If this choice names a server, the older
    /// choice is ignored, because a name applies to every backend.
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

/// The changes to a scenario for one run. `None` leaves the scenario's value.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Overrides {
    /// Number of competing workers.
    pub workers: Option<usize>,
    /// Number of independent nodes.
    pub nodes: Option<usize>,
    /// Lease time.
    pub ttl: Option<LeaseDuration>,
}

/// The error that a scenario does not fit the lock or its overrides.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct ResolveError {
    /// The override that caused the error, or `None` if the scenario itself does not fit the lock.
    pub culprit: Option<Override>,
    /// The underlying error.
    pub error: Box<ScenarioError>,
}

/// One of the [`Overrides`], with its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Override {
    /// Number of competing workers.
    Workers(usize),
    /// Number of independent nodes.
    Nodes(usize),
    /// Lease time.
    Ttl(LeaseDuration),
}

/// Applies the overrides to the scenario, and gives it the replicas that the lock needs. Resolving
/// the result again changes nothing.
///
/// # Errors
/// Returns an error if the result is not a valid scenario for the lock. Its culprit is the first
/// override that makes it invalid.
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
    /// Creates the specification of a simulation without overrides, for a scenario that a program created.
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

    /// Returns the same run with a resolved scenario, see [`resolve_scenario`].
    ///
    /// # Errors
    /// Returns an error if the scenario with its overrides does not fit the lock.
    pub fn resolved(self) -> Result<RunSpec, ResolveError> {
        let scenario = resolve_scenario(self.scenario, &self.lock, self.overrides)?;
        Ok(RunSpec { scenario, ..self })
    }

    /// Returns the same run with another seed.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> RunSpec {
        RunSpec {
            seed,
            ..self.clone()
        }
    }

    /// Returns the catalog name or path that the user gave, or the scenario's own name if a program created it.
    pub fn scenario_named(&self) -> &str {
        match &self.source {
            ScenarioSource::Named(named) | ScenarioSource::Repro { named, .. } => named,
            ScenarioSource::Program => &self.scenario.name,
        }
    }

    /// Returns the lease time. The lease time of a checked scenario is absolute, so it does not depend on another
    /// duration.
    pub fn ttl(&self) -> Duration {
        self.scenario.workload.ttl.resolve(Duration::ZERO)
    }

    /// Returns the lease time in milliseconds.
    pub fn ttl_ms(&self) -> u64 {
        millis(self.ttl())
    }

    /// Returns the lease that this client requests.
    pub fn lease_of(&self, worker: usize) -> Duration {
        let short = self.scenario.workload.short_lease_of(worker);
        short.map_or(self.ttl(), |short| short.resolve(self.ttl()))
    }

    /// Returns how long this client works inside a section. A client with a short lease works for a third of its lease.
    pub fn section_of(&self, worker: usize) -> Duration {
        let workload = &self.scenario.workload;
        let short = workload.short_lease_of(worker);
        short.map_or(workload.section.resolve(self.ttl()), |_| {
            self.lease_of(worker) / 3
        })
    }

    /// Returns how this client of a read/write lock holds it, or `None` for any other lock.
    pub fn mode_of(&self, worker: usize) -> Option<Mode> {
        let workload = &self.scenario.workload;
        match (workload.kind, workload.reads(worker)) {
            (WorkloadKind::ReadWrite, true) => Some(Mode::Shared),
            (WorkloadKind::ReadWrite, false) => Some(Mode::Exclusive),
            _ => None,
        }
    }

    /// Returns the schedule of the job, or `None` if the clients do not run a job.
    pub fn schedule(&self) -> Option<TickSchedule> {
        let schedule = &self.scenario.workload.schedule;
        schedule.map(|schedule| TickSchedule::new(schedule, self.ttl()))
    }

    /// Returns the number of permits that each acquisition of this client takes, or `None` for one.
    pub fn permits_of(&self, worker: usize) -> Option<u32> {
        let permits = self.scenario.workload.permits_of(worker);
        (permits > 1).then_some(permits)
    }

    /// Returns the shortest delay of a server, a worker or a fault that is recorded.
    pub fn shortest_delay(&self) -> Duration {
        RECORDED_DELAY.duration_of(self.ttl())
    }

    /// Returns how long a client's command waits for a reply before it fails.
    pub fn command_timeout(&self) -> Duration {
        self.scenario.workload.command_timeout.resolve(self.ttl())
    }

    /// Returns the maximum time for which the scenario's own faults can keep a worker from answering.
    pub fn longest_fault(&self) -> Duration {
        let faults = self.scenario.faults.iter();
        let spans = faults.filter_map(|fault| fault.duration);
        spans.map(|span| span.resolve(self.ttl())).sum()
    }

    /// Returns the number of independent nodes.
    pub fn nodes(&self) -> usize {
        self.scenario.topology.nodes.unwrap_or(self.lock.nodes)
    }

    /// Returns how many nodes the lock needs, or `None` if a majority is enough.
    ///
    /// A lock in this process that requests one node uses only one node, even if the run has more nodes. It is unknown
    /// here which node that is, so the lock counts as needing all of them. A program can declare that it needs all of
    /// its nodes.
    pub fn quorum(&self) -> Option<usize> {
        (self.uses_one_of_many() || self.lock.needs_every_node).then_some(self.nodes())
    }

    fn uses_one_of_many(&self) -> bool {
        self.lock.is_in_process() && self.lock.nodes == 1 && self.nodes() > 1
    }

    /// Returns on how many nodes the lock must be acquired. This is 1 for a lock that uses one of several nodes.
    pub fn needed_nodes(&self) -> usize {
        if self.uses_one_of_many() {
            return 1;
        }
        self.quorum().unwrap_or(self.nodes() / 2 + 1)
    }

    /// Returns the name of a lock's key. All generated names have the same length, so no name is a prefix of another.
    /// Names from the scenario may have any length.
    pub fn key(&self, number: u32) -> String {
        let prefix = self.key_prefix();
        match self.scenario.workload.names.get(number as usize) {
            Some(name) => format!("{prefix}{name}"),
            None => format!("{prefix}stock:{number:04}"),
        }
    }

    /// Returns the prefix of the keys with which programs warm up. These keys do not belong to a lock under test.
    pub fn warm_up_prefix(&self) -> String {
        format!("{}warm-up:", self.key_prefix())
    }

    /// Returns the prefix of every key of the run.
    pub fn key_prefix(&self) -> String {
        let external = self.servers.external.as_ref();
        external.map_or(DEFAULT_PREFIX.to_owned(), ExternalServers::key_prefix)
    }

    /// Returns the names of all lock keys.
    pub fn keys(&self) -> Vec<String> {
        let numbers = (0..).take(self.scenario.workload.keys);
        numbers.map(|number| self.key(number)).collect()
    }

    /// Returns the server version that a simulation models.
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
            nodes,
            replicas,
            ..LockSpec::new("any")
        }
    }

    #[test]
    fn resolved_catalog_scenario_has_an_absolute_ttl() {
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
    fn resolving_applies_overrides_and_is_idempotent() {
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
    fn quorum_is_a_majority_unless_all_or_one_node_is_needed() {
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
    fn server_name_replaces_older_choice_and_path_completes_it() {
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
    fn unfit_override_is_the_culprit() {
        let overrides = Overrides {
            workers: Some(0),
            ..Overrides::default()
        };
        let scenario = catalog::named("calm").unwrap();
        let error = resolve_scenario(scenario, &lock(1, 0), overrides).unwrap_err();
        assert_eq!(error.culprit, Some(Override::Workers(0)));
    }
}

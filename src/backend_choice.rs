//! Chooses the backend of a run, and says why.

use std::path::Path;

use picklock_harness::backend::Capabilities;
use picklock_harness::named_server::NamedServer;
use picklock_harness::run::{BackendSetup, ServerSetup};
use picklock_harness::servers::{BackendError, Binary, Detection, ServerKind, detect};
use picklock_harness::spec::{LockSpec, RunSpec, ServerChoice};
use picklock_scenarios::{BackendName, Scenario, StockPlace};

use crate::exit::Failure;
use crate::{external_choice, image, lock};

/// A chosen backend, with the reason in words.
#[derive(Clone)]
pub struct ChosenBackend {
    /// The servers; `None` for the simulation.
    pub servers: Option<ServerKind>,
    /// Why this backend was chosen.
    pub reason: String,
    /// What is to be known before the run.
    pub notes: Vec<String>,
}

impl ChosenBackend {
    /// Which backend it is.
    pub fn name(&self) -> BackendName {
        match &self.servers {
            Some(ServerKind::Docker(_)) => BackendName::Docker,
            Some(ServerKind::Process(_)) => BackendName::Process,
            Some(ServerKind::External(_)) => BackendName::External,
            None => BackendName::Sim,
        }
    }

    /// What a run in this backend needs besides its specification. `logs_commands`: a simulation
    /// logs its commands too.
    ///
    /// # Errors
    /// The lock cannot be simulated, or this program cannot start itself.
    pub fn backend(&self, spec: &RunSpec, logs_commands: bool) -> Result<BackendSetup, Failure> {
        let Some(servers) = &self.servers else {
            return Ok(BackendSetup::Simulation {
                lock: lock::in_process(&spec.lock)?,
                logs_commands,
            });
        };
        Ok(BackendSetup::Servers(ServerSetup {
            servers: servers.clone(),
            worker: lock::worker_command(&spec.lock)?,
            reaper: lock::this_program()?,
            reaper_args: vec!["reaper".into()],
            starts_only_runs: true,
        }))
    }

    fn on(servers: ServerKind, reason: String) -> ChosenBackend {
        ChosenBackend {
            servers: Some(servers),
            reason,
            notes: Vec::new(),
        }
    }

    /// Why a scenario, as it is run, is not applicable to servers of the user's own; `None`: it is, or Picklock
    /// starts the servers.
    pub fn inapplicable(&self, scenario: &Scenario, lock: &LockSpec) -> Option<String> {
        let Some(ServerKind::External(external)) = &self.servers else {
            return None;
        };
        let (given, topology) = (external.nodes(), &scenario.topology);
        let needed = topology.nodes.unwrap_or(lock.nodes);
        if needed > given {
            return Some(format!(
                "it needs {needed} Redis nodes, and --redis names {given}"
            ));
        }
        if external.is_cluster && scenario.workload.stock_in == StockPlace::Redis {
            return Some(
                "it keeps its stock on a server of its own, which a Redis Cluster has not".into(),
            );
        }
        if topology.replicas > 0 {
            return Some("it needs replicas, and --redis names servers without any".into());
        }
        let offered = Capabilities::of(BackendName::External).offer_all(scenario);
        offered.err().map(|refusal| refusal.to_string())
    }
}

/// What the user asked for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The backend; `None` for the best available one.
    pub backend: Option<BackendName>,
    /// Which servers.
    pub servers: &'a ServerChoice,
    /// True if a lock of the runs can be simulated.
    pub can_simulate: bool,
    /// The scenario, if all runs have the same one.
    pub scenario: Option<&'a Scenario>,
}

/// Chooses the backend that the user named, or the best available one.
///
/// # Errors
/// There is no Redis, no engine, or no image. The error says what to do about it.
pub async fn choose(wanted: Wanted<'_>) -> Result<ChosenBackend, Failure> {
    let image = wanted.servers.image.as_deref();
    let redis_server = wanted.servers.redis_server.as_deref();
    let named = wanted.servers.named;
    let bound = match wanted.backend {
        Some(backend) => Some(backend),
        None => of_servers(wanted.servers)?.or_else(|| only_backend(wanted.scenario)),
    };
    match bound {
        Some(BackendName::Process) => {
            let binary = Binary::choose(redis_server, named).map_err(environment)?;
            let reason = format!("requested; {}", binary.reason());
            Ok(ChosenBackend::on(ServerKind::Process(binary), reason))
        }
        Some(BackendName::Docker) => {
            let image = image::choose(image, named).await?;
            let reason = format!("requested; {}", image.reason());
            Ok(ChosenBackend::on(ServerKind::Docker(image), reason))
        }
        Some(BackendName::External) => {
            let Some(servers) = &wanted.servers.external else {
                return Err(Failure::Usage(external_choice::NO_SERVERS.into()));
            };
            if wanted.servers.named.is_some() {
                of_servers(wanted.servers)?;
            }
            let plan = external_choice::plan(servers).await?;
            Ok(ChosenBackend {
                servers: Some(ServerKind::External(Box::new(plan.servers))),
                reason: plan.reason,
                notes: plan.notes,
            })
        }
        Some(BackendName::Sim) => Ok(ChosenBackend {
            servers: None,
            reason: format!("requested; virtual time, {}", modelled(named)),
            notes: Vec::new(),
        }),
        None => detected(wanted, image, redis_server).await,
    }
}

/// The backend that the user's choice of servers is about; `None` if it is about none, or about all.
fn of_servers(servers: &ServerChoice) -> Result<Option<BackendName>, Failure> {
    if servers.external.is_some() {
        let others = [
            ("--server", servers.named.is_some()),
            ("--image", servers.image.is_some()),
            ("--redis-server", servers.redis_server.is_some()),
        ];
        return match others.into_iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => Err(Failure::Usage(format!(
                "--redis is about servers that run already, and {flag} about servers that picklock starts: leave one out"
            ))),
            None => Ok(Some(BackendName::External)),
        };
    }
    match (&servers.image, &servers.redis_server) {
        (Some(_), Some(_)) => Err(Failure::Usage(
            "--image is about containers, and --redis-server about processes: leave one out, or choose by --backend".into(),
        )),
        (Some(_), None) => Ok(Some(BackendName::Docker)),
        (None, Some(_)) => Ok(Some(BackendName::Process)),
        (None, None) => Ok(None),
    }
}

/// Refuses servers that none of the backends would use: the user believes that they are tested. `None`
/// among the backends is one that is chosen later.
///
/// # Errors
/// `--image` without containers, `--redis-server` without processes, `--redis` without the backend `external`.
pub fn refuse_unused(
    servers: &ServerChoice,
    backends: impl Iterator<Item = Option<BackendName>> + Clone,
) -> Result<(), Failure> {
    let is_used = |by| backends.clone().any(|one| one.is_none_or(|one| one == by));
    let unused = |flag: &str, value: &str, by: BackendName| {
        Err(Failure::Usage(format!(
            "{flag} {value}: only the backend {by} uses it; leave out --backend, or write --backend {by}"
        )))
    };
    match servers {
        ServerChoice {
            image: Some(image), ..
        } if !is_used(BackendName::Docker) => unused("--image", image, BackendName::Docker),
        ServerChoice {
            redis_server: Some(path),
            ..
        } if !is_used(BackendName::Process) => unused(
            "--redis-server",
            &path.display().to_string(),
            BackendName::Process,
        ),
        ServerChoice {
            external: Some(external),
            ..
        } if !is_used(BackendName::External) => unused(
            "--redis",
            &external.table().redis.join(","),
            BackendName::External,
        ),
        _ => Ok(()),
    }
}

/// The only server backend that the scenario allows; `None` if it allows more than one.
fn only_backend(scenario: Option<&Scenario>) -> Option<BackendName> {
    let scenario = scenario?;
    let (docker, process) = (
        scenario.runs_in(BackendName::Docker),
        scenario.runs_in(BackendName::Process),
    );
    match (docker, process) {
        (true, true) => None,
        (true, false) => Some(BackendName::Docker),
        (false, true) => Some(BackendName::Process),
        (false, false) => Some(BackendName::Sim),
    }
}

/// The best backend of this machine: real servers, else the simulation if it can run the lock.
async fn detected(
    wanted: Wanted<'_>,
    image: Option<&str>,
    redis_server: Option<&Path>,
) -> Result<ChosenBackend, Failure> {
    let Detection { backend, reason } = detect(image, redis_server, wanted.servers.named).await;
    if let Some(servers) = backend {
        return Ok(ChosenBackend::on(servers, reason));
    }
    if let Some(server) = wanted.servers.named {
        return Err(Failure::Environment(format!(
            "--server {server}: {reason}\n  = help: `scripts/servers` downloads its program, `scripts/redis-image` builds its image, and --backend sim models it"
        )));
    }
    let scenario = wanted.scenario;
    if let Some(scenario) = scenario.filter(|scenario| !scenario.runs_in(BackendName::Sim)) {
        let why = format!("the scenario {} cannot be simulated", scenario.name);
        return Err(no_backend(&reason, &why));
    }
    if !wanted.can_simulate {
        return Err(no_backend(
            &reason,
            "a program of your own cannot be simulated",
        ));
    }
    Ok(ChosenBackend {
        servers: None,
        reason: format!(
            "simulated, because no server was found; for real servers install redis-server (apt install redis-server) or start Docker: {reason}"
        ),
        notes: Vec::new(),
    })
}

/// What stands for the servers in a simulation.
fn modelled(named: Option<NamedServer>) -> String {
    match named {
        Some(server) => format!("a model of {server}"),
        None => "no server".to_owned(),
    }
}

fn no_backend(reason: &str, not_simulated: &str) -> Failure {
    Failure::Environment(format!(
        "no backend to run in: {reason}; and {not_simulated}\n  = help: install a Redis server (Debian, Ubuntu: `apt install redis-server`; Fedora: `dnf install valkey`) or name one with `--redis-server PATH`; or start Docker, or point DOCKER_HOST at an engine"
    ))
}

fn environment(error: BackendError) -> Failure {
    Failure::Environment(error.to_string())
}

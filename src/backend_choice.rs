//! Chooses the backend of a run and explains the choice.

use std::path::Path;

use picklock_harness::backend::Capabilities;
use picklock_harness::run::{BackendSetup, ServerSetup};
use picklock_harness::servers::{Binary, Detection, ServerKind, detect};
use picklock_harness::spec::{LockSpec, RunSpec, ServerChoice};
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_scenarios::{BackendName, Scenario, StockPlace};

use crate::cli::{ConfigArgs, ServerArgs};
use crate::exit::Failure;
use crate::{external_choice, image, lock};

/// A chosen backend and the reason for choosing it.
#[derive(Clone)]
pub struct ChosenBackend {
    /// The servers, or `None` for the simulation.
    pub servers: Option<ServerKind>,
    /// The reason for the choice.
    pub reason: String,
    /// Notes to print before the run.
    pub notes: Vec<String>,
}

impl ChosenBackend {
    pub fn name(&self) -> BackendName {
        match &self.servers {
            Some(ServerKind::Docker(_)) => BackendName::Docker,
            Some(ServerKind::Process(_)) => BackendName::Process,
            Some(ServerKind::External(_)) => BackendName::External,
            None => BackendName::Sim,
        }
    }

    /// Returns the setup of a run in this backend. With `logs_commands`, a simulation logs its commands too.
    ///
    /// # Errors
    /// Returns an error if the lock cannot be simulated, or if this program cannot start itself.
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

    /// Creates a choice without notes.
    pub fn new(servers: Option<ServerKind>, reason: String) -> ChosenBackend {
        ChosenBackend {
            servers,
            reason,
            notes: Vec::new(),
        }
    }

    /// Returns why a scenario cannot run on the user's own servers. Returns `None` if it can, or if Picklock starts the
    /// servers.
    pub fn inapplicable(&self, scenario: &Scenario, lock: &LockSpec) -> Option<String> {
        let Some(ServerKind::External(external)) = &self.servers else {
            return None;
        };
        let (given, topology) = (external.nodes(), &scenario.topology);
        let needed = topology.nodes.unwrap_or(lock.nodes);
        if needed > given {
            return Some(format!(
                "the scenario needs {needed} Redis nodes, but --redis names {given}"
            ));
        }
        if external.is_cluster && scenario.workload.stock_in == StockPlace::Redis {
            return Some(
                "the scenario stores its stock on a separate server, which is not available with a Redis Cluster".into(),
            );
        }
        if topology.replicas > 0 {
            return Some(
                "the scenario needs replicas, but the servers of --redis have none".into(),
            );
        }
        let offered = Capabilities::for_backend(BackendName::External).offer_all(scenario);
        offered.err().map(|refusal| refusal.to_string())
    }
}

/// The user's choice of a backend and servers.
#[derive(Debug, Clone, Copy)]
pub struct BackendRequest<'a> {
    /// The backend, or `None` for the best available one.
    pub backend: Option<BackendName>,
    pub servers: &'a ServerChoice,
    /// Whether a lock of the runs can be simulated.
    pub can_simulate: bool,
    /// The scenario, if all runs share one.
    pub scenario: Option<&'a Scenario>,
}

/// Chooses the backend that the user named, or the best available one.
///
/// # Errors
/// Returns an error, with advice, if there is no Redis, no container engine or no image.
pub async fn choose(wanted: BackendRequest<'_>) -> Result<ChosenBackend, Failure> {
    let image = wanted.servers.image.as_deref();
    let redis_server = wanted.servers.redis_server.as_deref();
    let named = wanted.servers.named;
    let bound = match wanted.backend {
        Some(backend) => Some(backend),
        None => required_backend(wanted.servers)?.or_else(|| only_backend(wanted.scenario?)),
    };
    match bound {
        Some(BackendName::Process) => {
            let binary = Binary::choose(redis_server, named)?;
            let reason = format!("requested; {}", binary.reason());
            let servers = ServerKind::Process(binary);
            Ok(ChosenBackend::new(Some(servers), reason))
        }
        Some(BackendName::Docker) => {
            let image = image::choose(image, named).await?;
            let reason = format!("requested; {}", image.reason());
            Ok(ChosenBackend::new(Some(ServerKind::Docker(image)), reason))
        }
        Some(BackendName::External) => {
            let no_servers = || Failure::Usage(Inert::literal(external_choice::NO_SERVERS));
            let servers = (wanted.servers.external.as_ref()).ok_or_else(no_servers)?;
            if named.is_some() {
                required_backend(wanted.servers)?;
            }
            let (servers, reason, notes) = external_choice::plan(servers).await?;
            Ok(ChosenBackend {
                servers: Some(ServerKind::External(Box::new(servers))),
                reason,
                notes,
            })
        }
        Some(BackendName::Sim) => {
            let server = named.map_or("no server".to_owned(), |it| format!("a model of {it}"));
            let reason = format!("requested; virtual time, {server}");
            Ok(ChosenBackend::new(None, reason))
        }
        None => detected(wanted, image, redis_server).await,
    }
}

/// Returns the only backend to which the user's server options apply. Returns `None` if they apply to all backends, or
/// if the user gave no such options.
fn required_backend(servers: &ServerChoice) -> Result<Option<BackendName>, Failure> {
    if servers.external.is_some() {
        let others = [
            ("--server", servers.named.is_some()),
            ("--image", servers.image.is_some()),
            ("--redis-server", servers.redis_server.is_some()),
        ];
        return match others.into_iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => Err(Failure::Usage(inert!(
                "--redis names running servers, and {} applies to servers that picklock starts: leave one out",
                flag
            ))),
            None => Ok(Some(BackendName::External)),
        };
    }
    match (&servers.image, &servers.redis_server) {
        (Some(_), Some(_)) => Err(Failure::Usage(Inert::literal(
            "--image applies to containers, and --redis-server to processes: leave one out, or choose with --backend",
        ))),
        (Some(_), None) => Ok(Some(BackendName::Docker)),
        (None, Some(_)) => Ok(Some(BackendName::Process)),
        (None, None) => Ok(None),
    }
}

/// Returns the servers of a command line. If it names none, and the backend is `external`, returns the configured
/// servers.
///
/// # Errors
/// Returns an error if they cannot be used as named, or if no backend would use them.
pub fn servers(
    args: &ServerArgs,
    config: &ConfigArgs,
    backends: &[Option<BackendName>],
) -> Result<ServerChoice, Failure> {
    let mut servers = args.choice()?;
    if backends.contains(&Some(BackendName::External)) && servers.external.is_none() {
        let config = config.config.as_deref();
        servers.external = Some(external_choice::configured(config, args.external.yes)?);
    }
    refuse_unused(&servers, backends)?;
    Ok(servers)
}

/// Refuses servers that none of the backends would use, because the user would assume that they are tested. `None`
/// stands for a backend that is chosen later.
///
/// # Errors
/// Returns an error for `--image` without containers, `--redis-server` without processes, and `--redis` without the
/// backend `external`.
pub fn refuse_unused(
    servers: &ServerChoice,
    backends: &[Option<BackendName>],
) -> Result<(), Failure> {
    let is_used = |by| backends.iter().any(|one| one.is_none_or(|one| one == by));
    let unused = |flag: &str, value: &str, by: BackendName| {
        Err(Failure::Usage(inert!(
            "{} {}: only the backend {} uses it; leave out --backend, or write --backend {}",
            flag,
            value,
            by,
            by
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

/// Returns the only backend that the scenario allows, or `None` if it allows several that use servers.
fn only_backend(scenario: &Scenario) -> Option<BackendName> {
    let runs_in = |backend| scenario.runs_in(backend);
    match (runs_in(BackendName::Docker), runs_in(BackendName::Process)) {
        (true, true) => None,
        (true, false) => Some(BackendName::Docker),
        (false, true) => Some(BackendName::Process),
        (false, false) => Some(BackendName::Sim),
    }
}

/// Returns the best backend of this machine: real servers, or the simulation if it can run the lock.
async fn detected(
    wanted: BackendRequest<'_>,
    image: Option<&str>,
    redis_server: Option<&Path>,
) -> Result<ChosenBackend, Failure> {
    let Detection { backend, reason } = detect(image, redis_server, wanted.servers.named).await;
    if backend.is_some() {
        return Ok(ChosenBackend::new(backend, reason));
    }
    if let Some(server) = wanted.servers.named {
        return Err(Failure::Environment(inert!(
            "--server {}: {}\n  = help: `scripts/servers` downloads its program, `scripts/redis-image` builds its image, and --backend sim models it",
            server,
            Inert::lines(&reason)
        )));
    }
    let scenario = wanted.scenario;
    if let Some(scenario) = scenario.filter(|scenario| !scenario.runs_in(BackendName::Sim)) {
        let why = format!("the scenario {} cannot be simulated", scenario.name);
        return Err(no_backend(&reason, &why));
    }
    if !wanted.can_simulate {
        let why = "a program of your own cannot be simulated";
        return Err(no_backend(&reason, why));
    }
    let reason = format!(
        "simulated, because no server was found; for real servers install redis-server (apt install redis-server) or start Docker: {reason}"
    );
    Ok(ChosenBackend::new(None, reason))
}

fn no_backend(reason: &str, not_simulated: &str) -> Failure {
    Failure::Environment(inert!(
        "no backend to run in: {}; and {}\n  = help: install a Redis server (Debian, Ubuntu: `apt install redis-server`; Fedora: `dnf install valkey`) or name one with `--redis-server PATH`; or start Docker, or point DOCKER_HOST at an engine",
        Inert::lines(reason),
        not_simulated
    ))
}

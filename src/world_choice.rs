//! Chooses the world of a run, and says why.

use std::path::Path;

use picklock_harness::named_server::NamedServer;
use picklock_harness::real::{Binary, Detection, World, WorldError, detect};
use picklock_harness::run::{Backend, ServerBackend};
use picklock_harness::spec::{RunSpec, ServerChoice};
use picklock_scenarios::{Scenario, WorldName};

use crate::exit::Failure;
use crate::{image, subject};

/// A chosen world, with the reason in words.
pub struct ChosenWorld {
    /// The servers; `None` for the simulation.
    pub servers: Option<World>,
    /// Why this world was chosen.
    pub reason: String,
}

impl ChosenWorld {
    /// Which world it is.
    pub fn name(&self) -> WorldName {
        match &self.servers {
            Some(World::Docker(_)) => WorldName::Docker,
            Some(World::Process(_)) => WorldName::Process,
            None => WorldName::Sim,
        }
    }

    /// What a run in this world needs besides its specification. `logs_commands`: a simulation
    /// logs its commands too.
    ///
    /// # Errors
    /// The subject cannot be simulated, or this program cannot start itself.
    pub fn backend(&self, spec: &RunSpec, logs_commands: bool) -> Result<Backend, Failure> {
        let Some(servers) = &self.servers else {
            return Ok(Backend::Simulation {
                subject: subject::in_process(&spec.subject)?,
                logs_commands,
            });
        };
        Ok(Backend::Servers(ServerBackend {
            servers: servers.clone(),
            worker: subject::worker_command(&spec.subject)?,
            reaper: subject::this_program()?,
            reaper_args: vec!["reaper".into()],
        }))
    }

    fn on(servers: World, reason: String) -> ChosenWorld {
        ChosenWorld {
            servers: Some(servers),
            reason,
        }
    }
}

/// What the user asked for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The world; `None` for the best available one.
    pub world: Option<WorldName>,
    /// Which servers.
    pub servers: &'a ServerChoice,
    /// True if a subject of the runs can be simulated.
    pub can_simulate: bool,
    /// The scenario, if all runs have the same one.
    pub scenario: Option<&'a Scenario>,
}

/// Chooses the world that the user named, or the best available one.
///
/// # Errors
/// There is no Redis, no engine, or no image. The error says what to do about it.
pub async fn choose(wanted: Wanted<'_>) -> Result<ChosenWorld, Failure> {
    let image = wanted.servers.image.as_deref();
    let redis_server = wanted.servers.redis_server.as_deref();
    let named = wanted.servers.named;
    match wanted.world.or_else(|| only_world(wanted.scenario)) {
        Some(WorldName::Process) => {
            let binary = Binary::choose(redis_server, named).map_err(environment)?;
            let reason = format!("requested; {}", binary.reason());
            Ok(ChosenWorld::on(World::Process(binary), reason))
        }
        Some(WorldName::Docker) => {
            let image = image::choose(image, named).await?;
            let reason = format!("requested; {}", image.reason());
            Ok(ChosenWorld::on(World::Docker(image), reason))
        }
        Some(WorldName::Sim) => Ok(ChosenWorld {
            servers: None,
            reason: format!("requested; virtual time, {}", modelled(named)),
        }),
        None => detected(wanted, image, redis_server).await,
    }
}

/// The only real world that the scenario allows; `None` if it allows more than one.
fn only_world(scenario: Option<&Scenario>) -> Option<WorldName> {
    let scenario = scenario?;
    let (docker, process) = (
        scenario.runs_in(WorldName::Docker),
        scenario.runs_in(WorldName::Process),
    );
    match (docker, process) {
        (true, true) => None,
        (true, false) => Some(WorldName::Docker),
        (false, true) => Some(WorldName::Process),
        (false, false) => Some(WorldName::Sim),
    }
}

/// The best world of this machine: real servers, else the simulation if it can run the subject.
async fn detected(
    wanted: Wanted<'_>,
    image: Option<&str>,
    redis_server: Option<&Path>,
) -> Result<ChosenWorld, Failure> {
    let Detection { world, reason } = detect(image, redis_server, wanted.servers.named).await;
    if let Some(servers) = world {
        return Ok(ChosenWorld::on(servers, reason));
    }
    let scenario = wanted.scenario;
    if let Some(scenario) = scenario.filter(|scenario| !scenario.runs_in(WorldName::Sim)) {
        let why = format!("the scenario {} cannot be simulated", scenario.name);
        return Err(no_world(&reason, &why));
    }
    if !wanted.can_simulate {
        return Err(no_world(
            &reason,
            "a program of your own cannot be simulated",
        ));
    }
    Ok(ChosenWorld {
        servers: None,
        reason: format!(
            "simulated, because no server was found; for real servers install redis-server (apt install redis-server) or start Docker: {reason}"
        ),
    })
}

/// What stands for the servers in a simulation.
fn modelled(named: Option<NamedServer>) -> String {
    match named {
        Some(server) => format!("a model of {server}"),
        None => "no server".to_owned(),
    }
}

fn no_world(reason: &str, not_simulated: &str) -> Failure {
    Failure::Environment(format!(
        "no world to run in: {reason}; and {not_simulated}\n  = help: install a Redis server (Debian, Ubuntu: `apt install redis-server`; Fedora: `dnf install valkey`) or name one with `--redis-server PATH`; or start Docker, or point DOCKER_HOST at an engine"
    ))
}

fn environment(error: WorldError) -> Failure {
    Failure::Environment(error.to_string())
}

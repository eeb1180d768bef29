//! Which world a run happens in, and why.

use std::path::Path;

use picklock_harness::real::{
    Binary, Detection, DockerServers, Layout, ProcessServers, RealServers, Reaper, World,
    WorldError, detect,
};

use picklock_scenarios::{Scenario, WorldName};

use crate::cli::BackendChoice;
use crate::exit::Failure;
use crate::image;

/// Where a run happens.
pub enum Place {
    /// On real servers.
    Real(World),
    /// In virtual time.
    Sim,
}

/// A place that was chosen, with the reason in words.
pub struct Chosen {
    /// Where.
    pub place: Place,
    /// Why there.
    pub reason: String,
}

impl Chosen {
    /// Which world it is.
    pub fn name(&self) -> WorldName {
        match &self.place {
            Place::Real(world) => name(world),
            Place::Sim => WorldName::Sim,
        }
    }
}

/// Which world it is.
pub fn name(world: &World) -> WorldName {
    match world {
        World::Docker(_) => WorldName::Docker,
        World::Process(_) => WorldName::Process,
    }
}

/// What was asked for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Which world.
    pub backend: BackendChoice,
    /// Docker image of the nodes.
    pub image: Option<&'a str>,
    /// Binary of the process world.
    pub redis_server: Option<&'a Path>,
    /// Something of what is to run can be simulated.
    pub can_simulate: bool,
    /// The one scenario that is to run, if it is only one.
    pub scenario: Option<&'a Scenario>,
}

/// Starts the servers of a real world.
///
/// # Errors
/// What the servers or the engine said.
pub async fn start(
    world: &World,
    layout: Layout,
    dir: &Path,
    reaper: &Reaper,
) -> Result<RealServers, Failure> {
    let started = match world {
        World::Process(binary) => ProcessServers::start(binary, layout, dir, reaper)
            .await
            .map(RealServers::Process),
        World::Docker(image) => DockerServers::start(image, layout, dir, reaper)
            .await
            .map(RealServers::Docker),
    };
    started.map_err(environment)
}

/// Chooses the world that the user named, or the best that there is.
///
/// # Errors
/// There is no Redis, no engine, or no image; with what to do about it.
pub async fn choose(args: Wanted<'_>) -> Result<Chosen, Failure> {
    match wanted(args.backend, args.scenario) {
        BackendChoice::Process => {
            let binary = Binary::find(args.redis_server).map_err(environment)?;
            let reason = format!("asked for; {}", binary.reason());
            Ok(Chosen {
                place: Place::Real(World::Process(binary)),
                reason,
            })
        }
        BackendChoice::Docker => {
            let image = image::choose(args.image).await?;
            let reason = format!("asked for; {}", image.reason());
            Ok(Chosen {
                place: Place::Real(World::Docker(image)),
                reason,
            })
        }
        BackendChoice::Auto => {
            let Detection { world, reason } = detect(args.image, args.redis_server).await;
            Ok(match world {
                Some(world) => Chosen {
                    place: Place::Real(world),
                    reason,
                },
                None => without_servers(args, &reason)?,
            })
        }
        BackendChoice::Sim => Ok(Chosen {
            place: Place::Sim,
            reason: "asked for; virtual time, no server".into(),
        }),
    }
}

/// What the user asked for; where the choice is left to us and the scenario leaves only one world,
/// that one.
fn wanted(asked: BackendChoice, scenario: Option<&Scenario>) -> BackendChoice {
    let Some(scenario) = scenario else {
        return asked;
    };
    let (docker, process) = (
        scenario.runs_in(WorldName::Docker),
        scenario.runs_in(WorldName::Process),
    );
    match asked {
        BackendChoice::Auto if docker && !process => BackendChoice::Docker,
        BackendChoice::Auto if process && !docker => BackendChoice::Process,
        BackendChoice::Auto if !process && !docker => BackendChoice::Sim,
        asked => asked,
    }
}

/// Nothing real is there: the simulation, if it can run the subject.
fn without_servers(args: Wanted<'_>, reason: &str) -> Result<Chosen, Failure> {
    if let Some(scenario) = args
        .scenario
        .filter(|scenario| !scenario.runs_in(WorldName::Sim))
    {
        return Err(Failure::Environment(format!(
            "no world to run in: {reason}; and the scenario {} cannot be simulated\n  = help: install a Redis server (Debian, Ubuntu: `apt install redis-server`; Fedora: `dnf install valkey`) or name one with `--redis-server PATH`; or start Docker, or point DOCKER_HOST at an engine",
            scenario.name
        )));
    }
    if !args.can_simulate {
        return Err(Failure::Environment(format!(
            "no world to run in: {reason}; and a program of your own cannot be simulated\n  = help: install a Redis server (Debian, Ubuntu: `apt install redis-server`; Fedora: `dnf install valkey`) or name one with `--redis-server PATH`; or start Docker, or point DOCKER_HOST at an engine"
        )));
    }
    Ok(Chosen {
        place: Place::Sim,
        reason: format!(
            "simulated, because nothing real is here; for real servers install redis-server (apt install redis-server) or start Docker: {reason}"
        ),
    })
}

fn environment(error: WorldError) -> Failure {
    Failure::Environment(error.to_string())
}

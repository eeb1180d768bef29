//! Which world a run happens in, and why.

use std::path::Path;

use picklock_harness::real::{
    Binary, Detection, DockerServers, Image, Layout, ProcessServers, RealServers, Reaper, World,
    WorldError, detect,
};

use crate::cli::{BackendChoice, ScenarioArgs};
use crate::exit::Failure;

/// A world that was chosen, with the reason in words.
pub struct Chosen {
    world: World,
    /// Why this one.
    pub reason: String,
}

impl Chosen {
    /// `process` or `docker`.
    pub fn name(&self) -> &'static str {
        match self.world {
            World::Docker(_) => "docker",
            World::Process(_) => "process",
        }
    }

    /// Starts the servers.
    ///
    /// # Errors
    /// What the servers or the engine said.
    pub async fn start(
        &self,
        layout: Layout,
        dir: &Path,
        reaper: &Reaper,
    ) -> Result<RealServers, Failure> {
        let started = match &self.world {
            World::Process(binary) => ProcessServers::start(binary, layout, dir, reaper)
                .await
                .map(RealServers::Process),
            World::Docker(image) => DockerServers::start(image, layout, dir, reaper)
                .await
                .map(RealServers::Docker),
        };
        started.map_err(environment)
    }
}

/// Chooses the world that the user named, or the best that there is.
///
/// # Errors
/// There is no Redis, no engine, or no image; with what to do about it.
pub async fn choose(args: &ScenarioArgs) -> Result<Chosen, Failure> {
    match args.backend {
        BackendChoice::Process => {
            let binary = Binary::find(args.redis_server.as_deref()).map_err(environment)?;
            let reason = format!("asked for; {}", binary.reason());
            Ok(Chosen {
                world: World::Process(binary),
                reason,
            })
        }
        BackendChoice::Docker => {
            let image = Image::choose(args.image.as_deref())
                .await
                .map_err(environment)?;
            let reason = format!("asked for; {}", image.reason());
            Ok(Chosen {
                world: World::Docker(image),
                reason,
            })
        }
        BackendChoice::Auto => {
            let Detection { world, reason } =
                detect(args.image.as_deref(), args.redis_server.as_deref()).await;
            match world {
                Some(world) => Ok(Chosen { world, reason }),
                None => Err(Failure::Environment(format!(
                    "no world to run in: {reason}\n  = help: install a Redis server (Debian, Ubuntu: `apt install redis-server`; Fedora: `dnf install valkey`) or name one with `--redis-server PATH`; or start Docker, or point DOCKER_HOST at an engine"
                ))),
            }
        }
    }
}

fn environment(error: WorldError) -> Failure {
    Failure::Environment(error.to_string())
}

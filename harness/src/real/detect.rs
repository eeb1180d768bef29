use std::path::Path;
use std::time::Duration;

use tokio::time::timeout;

use super::{Binary, Image, WorldError};

/// A real world that this machine can offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum World {
    /// Containers of this image.
    Docker(Image),
    /// Processes of this program.
    Process(Binary),
}

/// What this machine can offer, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detection {
    /// The better of the real worlds; `None`: neither.
    pub world: Option<World>,
    /// Why that one, in a line.
    pub reason: String,
}

/// An engine that answers the first question may still hang at the second.
const DOCKER_PATIENCE: Duration = Duration::from_millis(1900);

/// Looks for a container engine with a Redis image that is there or can be pulled, then for a
/// server program. `image` and `binary` are what the user named, if anything. Takes less than two
/// seconds, whatever does not answer.
pub async fn detect(image: Option<&str>, binary: Option<&Path>) -> Detection {
    let no_docker = match timeout(DOCKER_PATIENCE, Image::choose(image)).await {
        Ok(Ok(image)) => {
            let reason = format!("a container engine answers; {}", image.reason());
            return Detection {
                world: Some(World::Docker(image)),
                reason,
            };
        }
        Ok(Err(error)) => in_short(&error),
        Err(_) => "the container engine hangs".to_owned(),
    };
    match Binary::find(binary) {
        Ok(binary) => Detection {
            reason: format!("{}; not docker: {no_docker}", binary.reason()),
            world: Some(World::Process(binary)),
        },
        Err(error) => Detection {
            world: None,
            reason: format!("not docker: {no_docker}; not process: {}", in_short(&error)),
        },
    }
}

/// The fact without the advice: another world is there, and the reason has one line.
fn in_short(error: &WorldError) -> String {
    let text = match error {
        WorldError::Engine(why) => format!("no container engine answers ({why})"),
        WorldError::NoImage { image, why } => format!("{image} cannot be pulled ({why})"),
        WorldError::NoDefaultImage {
            official,
            local,
            why,
        } => {
            format!(
                "{official} cannot be pulled ({why}), and scripts/redis-image has not built {local}"
            )
        }
        WorldError::NoBinary { .. } => "no Redis or Valkey server on PATH".to_owned(),
        WorldError::CannotRun { program, source } => {
            format!("cannot run {} ({source})", program.display())
        }
        other => other.to_string(),
    };
    text.replace('\n', " ")
}

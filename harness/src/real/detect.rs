use std::path::Path;

use super::{Binary, Image};

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

/// Looks for a container engine with a Redis image that is there or can be pulled, then for a
/// server program. `image` and `binary` are what the user named, if anything. Takes less than two
/// seconds, whatever does not answer.
pub async fn detect(image: Option<&str>, binary: Option<&Path>) -> Detection {
    let no_docker = match Image::choose(image).await {
        Ok(image) => {
            let reason = format!("a container engine answers; {}", image.reason());
            return Detection {
                world: Some(World::Docker(image)),
                reason,
            };
        }
        Err(error) => error.to_string(),
    };
    match Binary::find(binary) {
        Ok(binary) => Detection {
            reason: format!("{}; not docker: {no_docker}", binary.reason()),
            world: Some(World::Process(binary)),
        },
        Err(no_binary) => Detection {
            world: None,
            reason: format!("not docker: {no_docker}; not process: {no_binary}"),
        },
    }
}

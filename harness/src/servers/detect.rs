//! Chooses the backend if the user has not: containers if an engine answers, then processes.

use std::path::Path;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use picklock_scenarios::BackendName;
use tokio::time::timeout;

use super::{BackendError, Binary, Image, engine};
use crate::external_servers::ExternalServers;
use crate::named_server::{LOCAL_IMAGE, NamedServer, OFFICIAL_IMAGE};

/// The servers of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerKind {
    /// Containers of this image.
    Docker(Image),
    /// Processes of this program.
    Process(Binary),
    /// Servers that were started by someone else.
    External(Box<ExternalServers>),
}

impl ServerKind {
    /// Returns the backend for these servers.
    pub fn backend(&self) -> BackendName {
        match self {
            ServerKind::Docker(_) => BackendName::Docker,
            ServerKind::Process(_) => BackendName::Process,
            ServerKind::External(_) => BackendName::External,
        }
    }
}

/// The server backend that this machine supports, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detection {
    /// The preferred server backend, or `None` if this machine supports none.
    pub backend: Option<ServerKind>,
    /// Reason for the choice, in one line.
    pub reason: String,
}

/// Maximum total time for the checks of the engine, because an engine that answers the first request may still hang at
/// the second.
const DOCKER_PATIENCE: Duration = Duration::from_millis(1900);

/// Looks for a container engine with a Redis image that is present or can be pulled, then for a server program.
/// `image`, `binary` and `named` are the user's choices, if any. Takes less than two seconds, even if the engine or the
/// registry does not answer.
///
/// The future is boxed so that it is compiled here, and not again for each caller.
pub fn detect<'a>(
    image: Option<&'a str>,
    binary: Option<&'a Path>,
    named: Option<NamedServer>,
) -> LocalBoxFuture<'a, Detection> {
    Box::pin(async move {
        if cfg!(not(target_os = "linux")) {
            return Detection {
                backend: None,
                reason: "Picklock starts servers on Linux only".to_owned(),
            };
        }
        let choice = async {
            engine::connect_at_once().await?;
            Image::choose(image, named).await
        };
        let no_docker = match timeout(DOCKER_PATIENCE, choice).await {
            Ok(Ok(image)) => {
                let reason = format!("a container engine answers; {}", image.reason());
                return Detection {
                    backend: Some(ServerKind::Docker(image)),
                    reason,
                };
            }
            Ok(Err(error)) => in_short(&error),
            Err(_) => "the container engine does not respond".to_owned(),
        };
        match Binary::choose(binary, named) {
            Ok(binary) => Detection {
                reason: format!("{}; not docker: {no_docker}", binary.reason()),
                backend: Some(ServerKind::Process(binary)),
            },
            Err(error) => Detection {
                backend: None,
                reason: format!("not docker: {no_docker}; not process: {}", in_short(&error)),
            },
        }
    })
}

/// Describes the error without its advice, which does not apply if another backend is supported.
fn in_short(error: &BackendError) -> String {
    let text = match error {
        BackendError::Engine(why) => format!("no container engine answers ({why})"),
        BackendError::NoImage { image, why } => format!("{image} cannot be pulled ({why})"),
        BackendError::NoDefaultImage { why } => format!(
            "{OFFICIAL_IMAGE} cannot be pulled ({why}), and scripts/redis-image has not built {LOCAL_IMAGE}"
        ),
        BackendError::NoBinary { .. } => "no Redis or Valkey server on PATH".to_owned(),
        BackendError::CannotRun {
            program, source, ..
        } => {
            format!("cannot run {} ({source})", program.display())
        }
        other => other.to_string(),
    };
    text.replace('\n', " ")
}

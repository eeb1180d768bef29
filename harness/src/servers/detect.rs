use std::path::Path;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use picklock_scenarios::BackendName;
use tokio::time::timeout;

use super::{BackendError, Binary, Image, engine};
use crate::external_servers::ExternalServers;
use crate::named_server::{LOCAL_IMAGE, NamedServer, OFFICIAL_IMAGE};

/// Which servers a run has, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerKind {
    /// Containers of this image.
    Docker(Image),
    /// Processes of this program.
    Process(Binary),
    /// Servers that somebody else has started.
    External(Box<ExternalServers>),
}

impl ServerKind {
    /// The backend of which these are the servers.
    pub fn backend(&self) -> BackendName {
        match self {
            ServerKind::Docker(_) => BackendName::Docker,
            ServerKind::Process(_) => BackendName::Process,
            ServerKind::External(_) => BackendName::External,
        }
    }
}

/// Which server backend this machine supports, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detection {
    /// The preferred server backend; `None`: this machine supports none.
    pub backend: Option<ServerKind>,
    /// Why that one, in one line.
    pub reason: String,
}

/// An engine that answers the first request may still hang on the second.
const DOCKER_PATIENCE: Duration = Duration::from_millis(1900);

/// Looks for a container engine with a Redis image that is present or can be pulled, then for a
/// server program. `image`, `binary` and `named` are the choices of the user, if any. Takes less
/// than two seconds,
/// even if the engine or the registry does not answer.
///
/// The future is boxed: so what it does is compiled here, and not once more for its caller.
pub fn detect<'a>(
    image: Option<&'a str>,
    binary: Option<&'a Path>,
    named: Option<NamedServer>,
) -> LocalBoxFuture<'a, Detection> {
    Box::pin(async move {
        if cfg!(not(target_os = "linux")) {
            return Detection {
                backend: None,
                reason: "servers are started on Linux only".to_owned(),
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
            Err(_) => "the container engine hangs".to_owned(),
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

/// The error without the advice, which does not apply if another backend is supported.
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

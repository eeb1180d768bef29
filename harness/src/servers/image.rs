//! Finds, pulls and inspects the container image of the servers.

use std::time::Duration;

use bollard::Docker;
use bollard::auth::DockerCredentials;
use bollard::errors::Error;
use bollard::query_parameters::CreateImageOptionsBuilder;
use docker_credential::DockerCredential;
use futures_util::TryStreamExt;
use tokio::time::timeout;

use super::BackendError;
use super::engine::{self, with_causes};
use super::server::ServerFuture;
use crate::named_server::{LOCAL_IMAGE, NamedServer, OFFICIAL_IMAGE};

/// How long to wait for a registry. It is only queried if the image is not present. The detection of a backend takes at
/// most two seconds in total.
const REGISTRY_PATIENCE: Duration = Duration::from_millis(1100);

/// How long a pull may take: tens of megabytes over a slow connection.
const PULL_PATIENCE: Duration = Duration::from_secs(300);

/// The server to start if the default command of the image is not a server.
const USUAL_SERVER: &str = "redis-server";

/// A Redis image that the engine has or can pull.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    reference: String,
    reason: String,
    is_present: bool,
}

impl Image {
    /// Chooses the given image or, without one, the image of the named server. Without either, chooses the official
    /// image if it is present or its registry offers it, and otherwise the image that `scripts/redis-image` builds.
    /// Pulls nothing yet.
    ///
    /// # Errors
    /// Returns an error if no engine answers, or there is no image.
    pub fn choose(given: Option<&str>, named: Option<NamedServer>) -> ServerFuture<'_, Image> {
        Box::pin(async move {
            let engine = engine::connect().await?;
            let image = |reference: &str, reason: &str, is_present| Image {
                reference: reference.to_owned(),
                reason: format!("image {reference}, {reason}"),
                is_present,
            };
            if let (None, Some(server)) = (given, named) {
                // This image is only built locally. An image of the same name in a registry would be someone else's.
                if !is_present(&engine, server.image()).await {
                    return Err(BackendError::NoNamedImage { server });
                }
                return Ok(image(server.image(), "built by scripts/redis-image", true));
            }
            let wanted = given.unwrap_or(OFFICIAL_IMAGE);
            if is_present(&engine, wanted).await {
                return Ok(image(wanted, "present", true));
            }
            let why = match offered(&engine, wanted).await {
                Offer::Yes => return Ok(image(wanted, "to be pulled", false)),
                // A user who names a private image is assumed to have its credentials.
                Offer::NeedsCredentials if given.is_some() => {
                    return Ok(image(wanted, "to be pulled with credentials", false));
                }
                Offer::NeedsCredentials => "its registry requires credentials".to_owned(),
                Offer::No(why) => why,
            };
            if let Some(named) = given {
                let image = named.to_owned();
                return Err(BackendError::NoImage { image, why });
            }
            if is_present(&engine, LOCAL_IMAGE).await {
                let reason =
                    format!("built by scripts/redis-image; {OFFICIAL_IMAGE} cannot be pulled");
                return Ok(image(LOCAL_IMAGE, &reason, true));
            }
            Err(BackendError::NoDefaultImage { why })
        })
    }

    /// Returns the reference by which the engine knows the image.
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// Describes in one line which image was chosen and why.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Pulls the image if it is not present, with the credentials of the user's Docker.
    pub(super) async fn fetch(&self, engine: &Docker) -> Result<(), BackendError> {
        if self.is_present {
            return Ok(());
        }
        let options = CreateImageOptionsBuilder::new()
            .from_image(&with_tag(&self.reference))
            .build();
        let credentials = credentials(registry(&self.reference)).await;
        let pull = engine.create_image(Some(options), None, credentials);
        let failed = |why| BackendError::NoImage {
            image: self.reference.clone(),
            why,
        };
        match timeout(PULL_PATIENCE, pull.try_for_each(async |_| Ok(()))).await {
            Ok(pulled) => pulled.map_err(|e| failed(with_causes(&e))),
            Err(_) => Err(failed(format!(
                "the pull did not finish within {PULL_PATIENCE:?}"
            ))),
        }
    }

    /// Returns the server program in the image. The official images of Redis and Valkey have it as their default
    /// command.
    pub(super) async fn program(&self, engine: &Docker) -> Result<String, BackendError> {
        let found = engine.inspect_image(&self.reference).await;
        let found = found.map_err(|e| BackendError::NoImage {
            image: self.reference.clone(),
            why: with_causes(&e),
        })?;
        let command = found
            .config
            .and_then(|config| config.cmd?.into_iter().next());
        let server = command.filter(|word| word.ends_with("-server"));
        Ok(server.unwrap_or_else(|| USUAL_SERVER.to_owned()))
    }
}

/// Returns a reference to a single image. Without a tag, an engine would pull all tags.
fn with_tag(reference: &str) -> String {
    let (_, name) = reference.rsplit_once('/').unwrap_or(("", reference));
    if name.contains([':', '@']) {
        reference.to_owned()
    } else {
        format!("{reference}:latest")
    }
}

/// Returns the registry of an image, spelled as in Docker's own configuration.
fn registry(reference: &str) -> &str {
    match reference.split_once('/') {
        Some((host, _)) if host.contains(['.', ':']) || host == "localhost" => host,
        _ => "https://index.docker.io/v1/",
    }
}

/// Returns the credentials that the user's Docker has for this registry, or `None` if it has none.
async fn credentials(registry: &str) -> Option<DockerCredentials> {
    let server = registry.to_owned();
    // This may start a credential helper.
    let lookup = tokio::task::spawn_blocking(move || docker_credential::get_credential(&server));
    let mut found = DockerCredentials {
        serveraddress: Some(registry.to_owned()),
        ..DockerCredentials::default()
    };
    match lookup.await.ok()?.ok()? {
        DockerCredential::IdentityToken(token) => found.identitytoken = Some(token),
        DockerCredential::UsernamePassword(user, password) => {
            (found.username, found.password) = (Some(user), Some(password));
        }
    }
    Some(found)
}

async fn is_present(engine: &Docker, reference: &str) -> bool {
    engine.inspect_image(reference).await.is_ok()
}

/// The registry's answer for an image.
enum Offer {
    Yes,
    NeedsCredentials,
    No(String),
}

/// Queries the registry for the image, through the engine and without credentials.
async fn offered(engine: &Docker, reference: &str) -> Offer {
    let query = engine.inspect_registry_image(reference, None);
    match timeout(REGISTRY_PATIENCE, query).await {
        Ok(Ok(_)) => Offer::Yes,
        Ok(Err(Error::DockerResponseServerError {
            status_code: 401 | 403,
            ..
        })) => Offer::NeedsCredentials,
        Ok(Err(Error::DockerResponseServerError { message, .. })) => {
            Offer::No(message.trim().to_owned())
        }
        Ok(Err(error)) => Offer::No(with_causes(&error)),
        Err(_) => Offer::No(format!(
            "its registry did not answer within {REGISTRY_PATIENCE:?}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_without_a_tag_gets_the_latest_tag() {
        assert_eq!(with_tag("redis:8"), "redis:8");
        assert_eq!(with_tag("redis"), "redis:latest");
        assert_eq!(with_tag("host:5000/redis"), "host:5000/redis:latest");
        assert_eq!(with_tag("host:5000/redis:7"), "host:5000/redis:7");
        assert_eq!(with_tag("redis@sha256:ab"), "redis@sha256:ab");
    }

    #[test]
    fn registry_is_spelled_as_in_dockers_configuration() {
        assert_eq!(registry("redis:8"), "https://index.docker.io/v1/");
        assert_eq!(registry("me/redis"), "https://index.docker.io/v1/");
        assert_eq!(registry("host:5000/redis"), "host:5000");
        assert_eq!(registry("ghcr.io/me/redis:7"), "ghcr.io");
        assert_eq!(registry("localhost/redis"), "localhost");
    }
}

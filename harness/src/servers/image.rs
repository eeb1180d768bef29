use std::time::Duration;

use bollard::Docker;
use bollard::auth::DockerCredentials;
use bollard::errors::Error;
use bollard::query_parameters::CreateImageOptionsBuilder;
use docker_credential::DockerCredential;
use futures_util::TryStreamExt;
use tokio::time::timeout;

use super::BackendError;
use super::engine::{self, sentence};
use super::server::Answer;
use crate::named_server::{LOCAL_IMAGE, NamedServer, OFFICIAL_IMAGE};

/// How long a registry may take to say whether it has an image. Only asked if the image is not
/// present. Detection of a backend takes two seconds at most.
const REGISTRY_PATIENCE: Duration = Duration::from_millis(1100);

/// How long a pull may take: tens of megabytes over a slow line.
const PULL_PATIENCE: Duration = Duration::from_secs(300);

/// The server that is started if the default command of the image is not a known server.
const USUAL_SERVER: &str = "redis-server";

/// A Redis image that the engine has, or can pull.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    reference: String,
    reason: String,
    here: bool,
}

impl Image {
    /// The given image, else that of the server that was chosen by name. If neither: the official image, if it is present or its registry has
    /// it, otherwise the one that `scripts/redis-image` builds. Nothing is pulled yet.
    ///
    /// # Errors
    /// No engine answers, or there is no image.
    pub fn choose(given: Option<&str>, named: Option<NamedServer>) -> Answer<'_, Image> {
        Box::pin(async move {
            let engine = engine::connect().await?;
            let image = |reference: &str, reason: &str, here| Image {
                reference: reference.to_owned(),
                reason: format!("image {reference}, {reason}"),
                here,
            };
            if let (None, Some(server)) = (given, named) {
                // No registry has it: its name would lead to somebody else's image.
                return match is_here(&engine, server.image()).await {
                    true => Ok(image(server.image(), "built by scripts/redis-image", true)),
                    false => Err(BackendError::NoNamedImage { server }),
                };
            }
            let wanted = given.unwrap_or(OFFICIAL_IMAGE);
            if is_here(&engine, wanted).await {
                return Ok(image(wanted, "here", true));
            }
            let why = match offered(&engine, wanted).await {
                Offer::Yes => return Ok(image(wanted, "to be pulled", false)),
                // A user who names a private image is assumed to have its credentials.
                Offer::NotToStrangers if given.is_some() => {
                    return Ok(image(wanted, "to be pulled with credentials", false));
                }
                Offer::NotToStrangers => "its registry requires credentials".to_owned(),
                Offer::No(why) => why,
            };
            if let Some(named) = given {
                let image = named.to_owned();
                return Err(BackendError::NoImage { image, why });
            }
            if is_here(&engine, LOCAL_IMAGE).await {
                let reason =
                    format!("built by scripts/redis-image; {OFFICIAL_IMAGE} cannot be pulled");
                return Ok(image(LOCAL_IMAGE, &reason, true));
            }
            Err(BackendError::NoDefaultImage { why })
        })
    }

    /// The reference by which the engine knows it.
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// Which one and why, in one line.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Pulls it, if it is not present, with the credentials of the user's Docker.
    pub(super) async fn fetch(&self, engine: &Docker) -> Result<(), BackendError> {
        if self.here {
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
            Ok(pulled) => pulled.map_err(|e| failed(sentence(&e))),
            Err(_) => Err(failed(format!(
                "the pull was not done in {PULL_PATIENCE:?}"
            ))),
        }
    }

    /// The server program in the image: the official images of Redis and of Valkey name theirs as
    /// their default command.
    pub(super) async fn program(&self, engine: &Docker) -> Result<String, BackendError> {
        let found = engine.inspect_image(&self.reference).await;
        let found = found.map_err(|e| BackendError::NoImage {
            image: self.reference.clone(),
            why: sentence(&e),
        })?;
        let command = found.config.and_then(|config| config.cmd);
        let server = command.into_iter().flatten().next();
        let server = server.filter(|word| word.ends_with("-server"));
        Ok(server.unwrap_or_else(|| USUAL_SERVER.to_owned()))
    }
}

/// A reference that names one image: without a tag an engine pulls all of them.
fn with_tag(reference: &str) -> String {
    let (_, name) = reference.rsplit_once('/').unwrap_or(("", reference));
    match name.contains([':', '@']) {
        true => reference.to_owned(),
        false => format!("{reference}:latest"),
    }
}

/// The registry of an image, as Docker's own configuration names it.
fn registry(reference: &str) -> &str {
    match reference.split_once('/') {
        Some((host, _)) if host.contains(['.', ':']) || host == "localhost" => host,
        _ => "https://index.docker.io/v1/",
    }
}

/// What the user's Docker has been given for this registry; `None`: nothing.
async fn credentials(registry: &str) -> Option<DockerCredentials> {
    let server = registry.to_owned();
    // It may start a program that keeps them.
    let asked = tokio::task::spawn_blocking(move || docker_credential::get_credential(&server));
    let mut found = DockerCredentials {
        serveraddress: Some(registry.to_owned()),
        ..DockerCredentials::default()
    };
    match asked.await.ok()?.ok()? {
        DockerCredential::IdentityToken(token) => found.identitytoken = Some(token),
        DockerCredential::UsernamePassword(user, password) => {
            (found.username, found.password) = (Some(user), Some(password));
        }
    }
    Some(found)
}

async fn is_here(engine: &Docker, reference: &str) -> bool {
    engine.inspect_image(reference).await.is_ok()
}

/// What a registry says about an image.
enum Offer {
    Yes,
    NotToStrangers,
    No(String),
}

/// Asks the registry, through the engine and without credentials, whether it has the image.
async fn offered(engine: &Docker, reference: &str) -> Offer {
    let asked = engine.inspect_registry_image(reference, None);
    match timeout(REGISTRY_PATIENCE, asked).await {
        Ok(Ok(_)) => Offer::Yes,
        Ok(Err(Error::DockerResponseServerError {
            status_code: 401 | 403,
            ..
        })) => Offer::NotToStrangers,
        Ok(Err(Error::DockerResponseServerError { message, .. })) => {
            Offer::No(message.trim().to_owned())
        }
        Ok(Err(error)) => Offer::No(sentence(&error)),
        Err(_) => Offer::No(format!(
            "its registry did not answer within {REGISTRY_PATIENCE:?}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_without_a_tag_is_that_of_the_latest() {
        assert_eq!(with_tag("redis:8"), "redis:8");
        assert_eq!(with_tag("redis"), "redis:latest");
        assert_eq!(with_tag("host:5000/redis"), "host:5000/redis:latest");
        assert_eq!(with_tag("host:5000/redis:7"), "host:5000/redis:7");
        assert_eq!(with_tag("redis@sha256:ab"), "redis@sha256:ab");
    }

    #[test]
    fn registry_is_named_as_docker_keeps_its_credentials() {
        assert_eq!(registry("redis:8"), "https://index.docker.io/v1/");
        assert_eq!(registry("me/redis"), "https://index.docker.io/v1/");
        assert_eq!(registry("host:5000/redis"), "host:5000");
        assert_eq!(registry("ghcr.io/me/redis:7"), "ghcr.io");
        assert_eq!(registry("localhost/redis"), "localhost");
    }
}

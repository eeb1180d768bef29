use std::time::Duration;

use testcontainers::GenericImage;
use testcontainers::bollard::Docker;
use testcontainers::bollard::errors::Error;
use testcontainers::runners::AsyncRunner;
use tokio::time::timeout;

use super::BackendError;
use super::engine::{self, sentence};
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
    pub async fn choose(
        given: Option<&str>,
        named: Option<NamedServer>,
    ) -> Result<Image, BackendError> {
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
            let reason = format!("built by scripts/redis-image; {OFFICIAL_IMAGE} cannot be pulled");
            return Ok(image(LOCAL_IMAGE, &reason, true));
        }
        Err(BackendError::NoDefaultImage { why })
    }

    /// The reference by which the engine knows it.
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// Which one and why, in one line.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Name and tag, as testcontainers expects them: joined by a colon they give the reference. The
    /// colon of a digest also works. A colon before a `/` belongs to a port.
    pub(super) fn name_and_tag(&self) -> (&str, &str) {
        match self.reference.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, tag),
            _ => (&self.reference, "latest"),
        }
    }

    /// Pulls it, if it is not present, with the credentials of the user's Docker.
    pub(super) async fn fetch(&self) -> Result<(), BackendError> {
        if self.here {
            return Ok(());
        }
        let (name, tag) = self.name_and_tag();
        let pull = GenericImage::new(name, tag).pull_image();
        let failed = |why| BackendError::NoImage {
            image: self.reference.clone(),
            why,
        };
        match timeout(PULL_PATIENCE, pull).await {
            Ok(pulled) => pulled.map(drop).map_err(|e| failed(sentence(&e))),
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
        let command = found
            .config
            .and_then(|config| config.cmd)
            .unwrap_or_default();
        let server = command
            .into_iter()
            .next()
            .filter(|word| word.ends_with("-server"));
        Ok(server.unwrap_or_else(|| USUAL_SERVER.to_owned()))
    }
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
    fn a_reference_is_split_where_the_tag_begins() {
        let split = |reference: &str| {
            let image = Image {
                reference: reference.into(),
                reason: String::new(),
                here: true,
            };
            let (name, tag) = image.name_and_tag();
            (name.to_owned(), tag.to_owned())
        };
        let pair = |name: &str, tag: &str| (name.to_owned(), tag.to_owned());
        assert_eq!(split("redis:8"), pair("redis", "8"));
        assert_eq!(split("redis"), pair("redis", "latest"));
        assert_eq!(split("host:5000/redis"), pair("host:5000/redis", "latest"));
        assert_eq!(split("host:5000/redis:7"), pair("host:5000/redis", "7"));
        assert_eq!(split("redis@sha256:ab"), pair("redis@sha256", "ab"));
    }
}

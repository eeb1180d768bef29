//! Requests to the container engine, apart from those of single containers.

use std::collections::HashMap;
use std::time::Duration;

use testcontainers::bollard::Docker;
use testcontainers::bollard::errors::Error;
use testcontainers::bollard::models::{ContainerSummary, ContainerSummaryStateEnum};
use testcontainers::bollard::query_parameters::{
    ListContainersOptionsBuilder, RemoveContainerOptionsBuilder,
};
use tokio::time::timeout;

use super::{ProcessIdentity, WorldError};

/// Label with the run's id.
pub(super) const RUN_LABEL: &str = "picklock.run";

/// Label with the [`ProcessIdentity`] of the process that owns the run.
pub(super) const OWNER_LABEL: &str = "picklock.owner";

/// A local engine answers within milliseconds. `detect` takes at most two seconds in all, so this
/// must be shorter.
const ANSWER_PATIENCE: Duration = Duration::from_millis(700);

/// The engine, if it answers.
pub(super) async fn connect() -> Result<Docker, WorldError> {
    let asked = async {
        let engine = testcontainers::core::client::docker_client_instance()
            .await
            .map_err(|e| e.to_string())?;
        engine.ping().await.map_err(|e| sentence(&e))?;
        Ok(engine)
    };
    timeout(ANSWER_PATIENCE, asked)
        .await
        .unwrap_or_else(|_| Err(format!("no answer within {ANSWER_PATIENCE:?}")))
        .map_err(WorldError::Engine)
}

/// An error with its causes: the texts of the engine client leave out the cause.
pub(super) fn sentence(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}

/// True if the engine runs without root. Then its containers' host network is not this machine's.
pub(super) async fn is_rootless(engine: &Docker) -> bool {
    let options = engine.info().await.map(|info| info.security_options);
    let options = options.unwrap_or_default();
    options.iter().flatten().any(|it| it.contains("rootless"))
}

/// The user that a server must run as so that this process may change its files; `None` for the user
/// that the image chooses. Root may change every file. In a rootless engine the root of a container is
/// the user of the engine.
pub(super) async fn user_of_our_files(engine: &Docker) -> Option<String> {
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    if user.is_root() {
        return None;
    }
    (!is_rootless(engine).await).then(|| format!("{}:{}", user.as_raw(), group.as_raw()))
}

/// Removes all containers of one run, with their volumes. Containers that cannot be removed are
/// left to the sweep. True if the engine knows of none any more.
pub(super) async fn remove_run(run: &str) -> bool {
    let Ok(engine) = connect().await else {
        return false;
    };
    let label = format!("{RUN_LABEL}={run}");
    for container in labelled(&engine, &label).await.unwrap_or_default() {
        remove(&engine, &container).await;
    }
    let left = labelled(&engine, &label).await;
    left.is_ok_and(|left| left.is_empty())
}

/// Removes the containers of dead owners, and returns how many.
pub(super) async fn sweep() -> usize {
    let Ok(engine) = connect().await else {
        return 0;
    };
    let mut removed = 0;
    for container in labelled(&engine, OWNER_LABEL).await.unwrap_or_default() {
        if is_orphan(&container) && remove(&engine, &container).await {
            removed += 1;
        }
    }
    removed
}

/// True if the owner is certainly dead. Our containers do not restart on their own, so a running
/// container whose owner has another boot id belongs to another machine.
fn is_orphan(container: &ContainerSummary) -> bool {
    let labels = container.labels.as_ref();
    let Some(owner) = labels
        .and_then(|labels| labels.get(OWNER_LABEL))
        .and_then(|text| text.parse::<ProcessIdentity>().ok())
    else {
        return false;
    };
    let seconds = container.created.and_then(|at| u64::try_from(at).ok());
    let made_at = Duration::from_secs(seconds.unwrap_or(u64::MAX));
    let runs = matches!(
        container.state,
        Some(ContainerSummaryStateEnum::RUNNING | ContainerSummaryStateEnum::PAUSED)
    );
    owner.is_gone(made_at) && (!runs || owner.is_of_this_boot())
}

async fn labelled(engine: &Docker, label: &str) -> Result<Vec<ContainerSummary>, Error> {
    let filters = HashMap::from([("label", vec![label])]);
    let options = ListContainersOptionsBuilder::new()
        .all(true)
        .filters(&filters)
        .build();
    engine.list_containers(Some(options)).await
}

/// False if it was already removed, or the engine refuses.
async fn remove(engine: &Docker, container: &ContainerSummary) -> bool {
    let Some(id) = container.id.as_deref() else {
        return false;
    };
    let options = RemoveContainerOptionsBuilder::new()
        .force(true)
        .v(true)
        .build();
    engine.remove_container(id, Some(options)).await.is_ok()
}

/// The engine refused what was asked of a container. `name`: which one, or what it is for.
pub(super) fn refused(name: &str, doing: &'static str) -> impl FnOnce(Error) -> WorldError + use<> {
    let node = name.to_owned();
    move |source| WorldError::Refused {
        node,
        doing,
        source: Box::new(source),
    }
}

//! Removes the containers of a run, and those of runs whose process is dead.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use testcontainers::bollard::Docker;
use testcontainers::bollard::errors::Error;
use testcontainers::bollard::models::{ContainerSummary, ContainerSummaryStateEnum};
use testcontainers::bollard::query_parameters::ListContainersOptionsBuilder;

use super::engine::{OWNER_LABEL, RUN_LABEL, connect, remove_container};
use super::reaper::ContainerWatch;
use super::{ProcessIdentity, server_network};

/// Removes what is left of these containers, with their network. The reaper looks for what cannot be
/// removed.
pub(super) async fn end(watch: ContainerWatch) {
    if remove_run(watch.run()).await {
        watch.settle();
    }
}

/// Removes all containers of one run, with their volumes and their network. What cannot be removed is
/// left to the sweep. True if the engine knows of none any more.
pub(super) async fn remove_run(run: &str) -> bool {
    let Ok(engine) = connect().await else {
        return false;
    };
    let label = format!("{RUN_LABEL}={run}");
    let found = labelled(&engine, &label).await.unwrap_or_default();
    join_all(found.iter().map(|container| remove(&engine, container))).await;
    let left = labelled(&engine, &label).await;
    left.is_ok_and(|left| left.is_empty()) && server_network::remove(&engine, &label).await
}

/// Removes the containers of dead owners, and returns how many. Their networks go, too.
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
    server_network::sweep(&engine).await;
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

/// False if the engine refuses.
async fn remove(engine: &Docker, container: &ContainerSummary) -> bool {
    let Some(id) = container.id.as_deref() else {
        return false;
    };
    remove_container(engine, id).await.is_ok()
}

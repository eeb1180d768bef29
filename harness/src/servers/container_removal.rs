//! Removes the containers of a run, and the containers of runs whose process is dead.

use std::collections::HashMap;
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error;
use bollard::models::{ContainerSummary, ContainerSummaryStateEnum};
use bollard::query_parameters::ListContainersOptionsBuilder;
use futures_util::future::join_all;

use super::engine::{OWNER_LABEL, RUN_LABEL, connect, connect_at_once, owner, remove_container};
use super::reaper::ContainerWatch;
use super::server_network;

/// Removes the remaining containers of a run, with their network. The reaper retries those that cannot be removed.
pub(super) async fn end(watch: ContainerWatch) {
    if remove_run(watch.run()).await {
        watch.forget();
    }
}

/// Removes all containers of a run, with their volumes and their network. The sweep removes containers that cannot be
/// removed now. Returns `true` if the engine lists no more containers of the run.
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

/// Removes the containers and networks of dead owners.
pub(super) async fn sweep() {
    let Ok(engine) = connect_at_once().await else {
        return;
    };
    let found = labelled(&engine, OWNER_LABEL).await.unwrap_or_default();
    for container in found.iter().filter(|container| is_orphan(container)) {
        remove(&engine, container).await;
    }
    server_network::sweep(&engine).await;
}

/// Returns `true` if the owner is certainly dead. Picklock's containers never restart on their own, so a running
/// container whose owner has another boot ID belongs to another machine.
fn is_orphan(container: &ContainerSummary) -> bool {
    let Some(owner) = owner(container.labels.as_ref()) else {
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

async fn remove(engine: &Docker, container: &ContainerSummary) {
    if let Some(id) = container.id.as_deref() {
        // If the engine refuses, the caller detects that, because it lists the containers again.
        let _ = remove_container(engine, id).await;
    }
}

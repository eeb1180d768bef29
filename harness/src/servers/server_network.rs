//! The network of a run's servers in containers. Other containers are not connected to it, so they cannot reach the
//! servers, and no server of another run can get the address of a killed server.

use std::collections::HashMap;
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error;
use bollard::models::{Network, NetworkCreateRequest};
use bollard::query_parameters::ListNetworksOptionsBuilder;
use futures_util::future::join_all;

use super::BackendError;
use super::engine::{OWNER_LABEL, labels, owner, refused};
use crate::clock::wall_clock;

/// Label with the creation time of the network, in seconds since the Unix epoch.
const MADE_LABEL: &str = "picklock.made";

/// The attempted operation, with advice in case the engine has no addresses left. By default, Docker's
/// `default-address-pools` have addresses for thirty networks.
const CREATING: &str = "create a network for the run (use fewer `--jobs`, or remove unused networks with `docker network prune`)";

/// Creates the network of a run. Returns its name.
///
/// # Errors
/// Returns an error if the engine refuses.
pub(super) async fn create(
    engine: &Docker,
    run: &str,
    owner: &str,
) -> Result<String, BackendError> {
    let name = format!("picklock-{run}");
    let mut labels = labels(run, owner);
    labels.insert(MADE_LABEL.into(), wall_clock().as_secs().to_string());
    let request = NetworkCreateRequest {
        name: name.clone(),
        labels: Some(labels),
        ..NetworkCreateRequest::default()
    };
    let created = engine.create_network(request).await;
    created.map_err(refused(&name, CREATING))?;
    Ok(name)
}

/// Removes the networks with this label. Returns `true` if none is left.
pub(super) async fn remove(engine: &Docker, label: &str) -> bool {
    let Ok(found) = labelled(engine, label).await else {
        return false;
    };
    let removals = found.iter().map(|network| remove_one(engine, network));
    join_all(removals).await.into_iter().all(|removed| removed)
}

/// Removes the networks of dead owners, except those that still have containers.
pub(super) async fn sweep(engine: &Docker) {
    let found = labelled(engine, OWNER_LABEL).await.unwrap_or_default();
    let orphans = found.iter().filter(|network| is_orphan(network));
    join_all(orphans.map(|network| remove_one(engine, network))).await;
}

async fn labelled(engine: &Docker, label: &str) -> Result<Vec<Network>, Error> {
    let filters = HashMap::from([("label", vec![label])]);
    let options = ListNetworksOptionsBuilder::new().filters(&filters).build();
    engine.list_networks(Some(options)).await
}

/// Removes a network. Returns `false` if the engine refuses, for example because the network still has containers.
async fn remove_one(engine: &Docker, network: &Network) -> bool {
    let Some(id) = network.id.as_deref() else {
        return false;
    };
    engine.remove_network(id).await.is_ok()
}

fn is_orphan(network: &Network) -> bool {
    let labels = network.labels.as_ref();
    let made_at = labels.and_then(|labels| labels.get(MADE_LABEL)?.parse().ok());
    owner(labels)
        .is_some_and(|owner| owner.is_gone(Duration::from_secs(made_at.unwrap_or(u64::MAX))))
}

#[cfg(test)]
mod tests {
    use super::super::ProcessIdentity;
    use super::*;

    fn network(owner: &str, made_at: &str) -> Network {
        let labels = [(OWNER_LABEL, owner), (MADE_LABEL, made_at)];
        let labels = labels.map(|(label, value)| (label.to_owned(), value.to_owned()));
        Network {
            labels: Some(HashMap::from(labels)),
            ..Network::default()
        }
    }

    #[test]
    fn only_networks_of_dead_owners_are_orphans() {
        let here = ProcessIdentity::this_process().unwrap().to_string();
        let (_, rest) = here.split_once(':').unwrap();
        let now = wall_clock().as_secs().to_string();
        // No PID is as high as this one.
        let dead = format!("{}:{rest}", i32::MAX);
        assert!(is_orphan(&network(&dead, &now)));
        assert!(!is_orphan(&network(&here, &now)));
        assert!(!is_orphan(&network("someone else", &now)));
        let elsewhere = format!("{}:1:another boot:1", i32::MAX);
        assert!(!is_orphan(&network(&elsewhere, &now)));
        assert!(!is_orphan(&network(&elsewhere, "no number")));
        assert!(
            is_orphan(&network(&elsewhere, "1")),
            "created before this boot"
        );
    }
}

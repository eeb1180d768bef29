//! The Sentinels of a run.

use std::time::Duration;

use super::ServerBackend;
use super::replication::is_replica;
use crate::backend::{Refusal, Sentinels};
use crate::servers::BackendError;

/// Reason why the Sentinels of a run cannot fail over: there are none.
pub(super) const NO_SENTINELS: &str = "the scenario has no Sentinels";

/// Pause between two checks whether a stale master has become a replica.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

impl Sentinels for ServerBackend {
    async fn promoted_by_sentinels(&self, node: usize) -> Result<String, Refusal> {
        let servers = self.servers()?;
        let Some(group) = servers.sentinel_group() else {
            return Err(Refusal::Failed(NO_SENTINELS.into()));
        };
        let promoted = group.promoted(node).await;
        let server = promoted.map_err(|error| match error {
            BackendError::NotPromoted { .. } => Refusal::NoFailover(error.to_string()),
            error => Refusal::Failed(error.to_string()),
        })?;
        let address = servers.replica_address(node, server - 1);
        self.promoted.borrow_mut().insert(node, address);
        let failover = group.last_failover(node).await;
        self.requested_failovers.borrow_mut().insert(node, failover);
        let [old, new] = [0, server].map(|server| group.servers(node)[server]);
        Ok(format!(
            "the Sentinels made {new} its master in place of {old}"
        ))
    }

    async fn demoted_by_sentinels(&self, node: usize) {
        let Ok(servers) = self.servers() else { return };
        // A server that does not answer is not a replica yet.
        while !is_replica(servers.address(node)).await {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    async fn failed_over_spontaneously(&self, node: usize) -> bool {
        let Ok(servers) = self.servers() else {
            return false;
        };
        let Some(group) = servers.sentinel_group() else {
            return false;
        };
        let requested = self.requested_failovers.borrow().get(&node).copied();
        group.last_failover(node).await > requested.unwrap_or(0)
    }
}

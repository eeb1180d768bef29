//! Replication: cutting it, waiting for it, and failovers. Commands go directly to the servers.

use std::time::Duration;

use redis::FromRedisValue;
use tokio::time::timeout;

use super::liveness_monitor::Watched;
use super::{ServerBackend, failed, refused};
use crate::backend::{Refusal, Replication};
use crate::servers::ServerAddress;

/// How long to wait for a server's answer.
const ANSWER: Duration = Duration::from_secs(2);

/// Pause between two queries of a replica's progress.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

impl Replication for ServerBackend {
    async fn cut_replication(&self, node: usize) -> Result<(), Refusal> {
        let replica = self.servers()?.replica_address(node, 0);
        self.unreplicated.borrow_mut().insert(node);
        // The replica keeps its data, but now replicates from a server that does not exist, on port 1 of its own
        // machine.
        ask(replica, &["REPLICAOF", "127.0.0.1", "1"]).await
    }

    async fn fail_over(&self, node: usize) -> Result<(), Refusal> {
        let servers = self.servers()?;
        let replica = servers.replica_address(node, 0);
        let is_cut = self.unreplicated.borrow().contains(&node);
        if !is_cut {
            wait_until_caught_up(servers.address(node), replica).await?;
        }
        let observer = self.observer(node);
        self.kill_master(node).await?;
        if let Some(observer) = &observer {
            observer.finish_master_report().await;
        }
        let () = ask(replica, &["REPLICAOF", "NO", "ONE"]).await?;
        if let Some(observer) = observer {
            // The observer counts the master as server 0.
            observer.promoted(1).await;
        }
        self.promoted.borrow_mut().insert(node, replica);
        let redirected = self.parts.proxy.redirect(node, replica.socket());
        redirected.map_err(failed)?;
        self.liveness.resume(Watched::Node(node));
        Ok(())
    }
}

/// Waits until the replica has all data that its master had at the time of the call.
///
/// # Errors
/// Returns an error if a server does not answer, or the replica does not catch up in time.
async fn wait_until_caught_up(
    master: ServerAddress,
    replica: ServerAddress,
) -> Result<(), Refusal> {
    let master_offset = offset(master, "master_repl_offset").await?;
    let catch_up = async {
        loop {
            if offset(replica, "slave_repl_offset").await? >= master_offset {
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    bounded(replica, catch_up).await
}

/// Returns `true` if the server reports that it is a replica.
pub(super) async fn is_replica(server: ServerAddress) -> bool {
    let reply: Vec<redis::Value> = ask(server, &["ROLE"]).await.unwrap_or_default();
    let role = reply.first().map(redis::from_redis_value_ref::<String>);
    role.is_some_and(|role| role.is_ok_and(|role| role == "slave"))
}

/// Returns a number from `INFO replication`.
async fn offset(server: ServerAddress, field: &str) -> Result<u64, Refusal> {
    let info: String = ask(server, &["INFO", "replication"]).await?;
    let mut fields = info.lines().filter_map(|line| line.split_once(':'));
    let found = fields.find(|(name, _)| *name == field);
    let number = found.and_then(|(_, value)| value.trim().parse().ok());
    number.ok_or_else(|| Refusal::Failed(format!("the server at {server} does not report {field}")))
}

async fn ask<T: FromRedisValue>(server: ServerAddress, words: &[&str]) -> Result<T, Refusal> {
    let query = async {
        let reply = server.query(words, ANSWER).await;
        reply.map_err(|error| refused(server, &error))
    };
    bounded(server, query).await
}

async fn bounded<T>(
    server: ServerAddress,
    query: impl Future<Output = Result<T, Refusal>>,
) -> Result<T, Refusal> {
    timeout(ANSWER, query).await.unwrap_or_else(|_| {
        Err(Refusal::Failed(format!(
            "the server at {server} did not answer within {ANSWER:?}"
        )))
    })
}

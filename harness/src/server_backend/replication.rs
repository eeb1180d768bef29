//! Replication: cutting it, waiting for it, and ending it with a failover. Commands go directly to
//! the servers.

use std::time::Duration;

use redis::FromRedisValue;
use tokio::time::timeout;

use super::liveness_monitor::Watched;
use super::{ServerBackend, failed, refused};
use crate::backend::{Refusal, Replication};
use crate::servers::ServerAddress;

/// A server that does not answer within this time counts as silent.
const ANSWER: Duration = Duration::from_secs(2);

/// How often a replica is asked how far it has come.
const ASK_AGAIN: Duration = Duration::from_millis(2);

impl Replication for ServerBackend {
    async fn cut_replication(&self, node: usize) -> Result<(), Refusal> {
        let replica = self.servers()?.replica_address(node, 0);
        self.unreplicated.borrow_mut().insert(node);
        // It keeps its data, and follows a server that does not exist: port 1 of its own machine.
        ask(replica, &["REPLICAOF", "127.0.0.1", "1"]).await
    }

    async fn fail_over(&self, node: usize) -> Result<(), Refusal> {
        let servers = self.servers()?;
        let replica = servers.replica_address(node, 0);
        let is_cut = self.unreplicated.borrow().contains(&node);
        if !is_cut {
            caught_up(servers.address(node), replica).await?;
        }
        let observer = self.observer(node);
        self.kill_master(node).await?;
        if let Some(observer) = &observer {
            observer.master_died().await;
        }
        let () = ask(replica, &["REPLICAOF", "NO", "ONE"]).await?;
        if let Some(observer) = observer {
            // The observer counts the master as the first server.
            observer.promoted(1).await;
        }
        self.promoted.borrow_mut().insert(node, replica);
        let redirected = self.parts.proxy.redirect(node, replica.socket());
        redirected.map_err(failed)?;
        self.life.go_on(Watched::Node(node));
        Ok(())
    }
}

/// Waits until the replica has everything that its master had when this was called.
/// `Err`: one of them does not answer, or the replica does not catch up in time.
async fn caught_up(master: ServerAddress, replica: ServerAddress) -> Result<(), Refusal> {
    let wanted = offset(master, "master_repl_offset").await?;
    let catching_up = async {
        loop {
            if offset(replica, "slave_repl_offset").await? >= wanted {
                return Ok(());
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    };
    bounded(replica, catching_up).await
}

/// True when the server says that it is a replica.
pub(super) async fn follows(server: ServerAddress) -> bool {
    let role: Vec<redis::Value> = ask(server, &["ROLE"]).await.unwrap_or_default();
    let word = role.first().map(redis::from_redis_value_ref::<String>);
    word.is_some_and(|word| word.is_ok_and(|word| word == "slave"))
}

/// A number from `INFO replication`.
async fn offset(server: ServerAddress, field: &str) -> Result<u64, Refusal> {
    let info: String = ask(server, &["INFO", "replication"]).await?;
    let mut fields = info.lines().filter_map(|line| line.split_once(':'));
    let found = fields.find(|(name, _)| *name == field);
    let number = found.and_then(|(_, value)| value.trim().parse().ok());
    number.ok_or_else(|| Refusal::Failed(format!("the server at {server} does not tell {field}")))
}

async fn ask<T: FromRedisValue>(server: ServerAddress, words: &[&str]) -> Result<T, Refusal> {
    let asked = async {
        let answered = server.query(words, ANSWER).await;
        answered.map_err(|error| refused(server, &error))
    };
    bounded(server, asked).await
}

async fn bounded<T>(
    server: ServerAddress,
    asking: impl Future<Output = Result<T, Refusal>>,
) -> Result<T, Refusal> {
    let answered = timeout(ANSWER, asking).await;
    answered.unwrap_or_else(|_| {
        Err(Refusal::Failed(format!(
            "the server at {server} did not answer within {ANSWER:?}"
        )))
    })
}

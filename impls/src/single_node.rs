//! The Redis server of a lock that uses only one node.

use redis::{Cmd, FromRedisValue};

use crate::Node;
use crate::contract::LockError;

/// The first of a lock's nodes.
pub(crate) struct SingleNode(Option<Node>);

impl SingleNode {
    /// Takes the first node, and ignores the others.
    pub(crate) fn first_of(nodes: Vec<Node>) -> Self {
        SingleNode(nodes.into_iter().next())
    }

    /// Returns the same server over a separate connection, for a background task.
    pub(crate) fn separate(&self) -> Self {
        SingleNode(self.0.as_ref().map(Node::separate))
    }

    /// Returns the connection.
    ///
    /// # Errors
    /// Returns [`LockError::BadCall`] if the lock was built without any node.
    pub(crate) fn connection(&mut self) -> Result<&mut Node, LockError> {
        self.0
            .as_mut()
            .ok_or_else(|| LockError::BadCall("the lock requires at least one Redis node".into()))
    }

    /// Sends one command and reads its reply.
    pub(crate) async fn ask<T: FromRedisValue>(&mut self, command: Cmd) -> Result<T, LockError> {
        Ok(command.query_async(self.connection()?).await?)
    }

    /// Removes the members of a sorted set whose leases have ended by the clock of the server. Returns the time of that
    /// clock in milliseconds.
    pub(crate) async fn remove_expired(&mut self, key: &str) -> Result<u64, LockError> {
        let (seconds, micros): (u64, u64) = self.ask(redis::cmd("TIME")).await?;
        let now_ms = seconds * 1000 + micros / 1000;
        self.ask::<u64>(Cmd::zrembyscore(key, "-inf", now_ms))
            .await?;
        Ok(now_ms)
    }
}

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
    pub(crate) fn apart(&self) -> Self {
        SingleNode(self.0.as_ref().map(Node::apart))
    }

    /// Returns the connection.
    ///
    /// # Errors
    /// Returns [`LockError::BadCall`] if the lock was built without any node.
    pub(crate) fn connection(&mut self) -> Result<&mut Node, LockError> {
        self.0
            .as_mut()
            .ok_or_else(|| LockError::BadCall("the lock was given no Redis node".into()))
    }

    /// Sends one command and reads its reply.
    pub(crate) async fn ask<T: FromRedisValue>(&mut self, command: Cmd) -> Result<T, LockError> {
        Ok(command.query_async(self.connection()?).await?)
    }
}

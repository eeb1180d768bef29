//! One Redis server for a lock: any redis-rs connection.

use std::sync::Arc;

use redis::aio::ConnectionLike;
use redis::{Cmd, Pipeline, RedisFuture, RedisResult, Value};

use crate::contract::{LockError, LockFuture};

/// A connection that background tasks can share. Implemented for all clonable connections.
pub trait SharedConnection: ConnectionLike + Send {
    /// Returns another handle on the same connection.
    fn share(&self) -> Box<dyn SharedConnection>;
}

impl<C: ConnectionLike + Clone + Send + 'static> SharedConnection for C {
    fn share(&self) -> Box<dyn SharedConnection> {
        Box::new(self.clone())
    }
}

/// Creates connections to one node.
type Open = dyn Fn() -> Box<dyn SharedConnection> + Send + Sync;

/// A connection to one Redis node, real or simulated.
pub struct Node {
    connection: Box<dyn SharedConnection>,
    open: Option<Arc<Open>>,
    subscribe: Option<Arc<Subscribe>>,
}

impl Node {
    /// Wraps a connection of redis-rs or of a simulation.
    pub fn new(connection: impl SharedConnection + 'static) -> Self {
        Node {
            connection: Box::new(connection),
            open: None,
            subscribe: None,
        }
    }

    /// Connects with `open`, now and whenever a lock needs a separate connection.
    pub fn opening<C: SharedConnection + 'static>(
        open: impl Fn() -> C + Send + Sync + 'static,
    ) -> Self {
        let open: Arc<Open> = Arc::new(move || Box::new(open()));
        Node {
            connection: open(),
            open: Some(open),
            subscribe: None,
        }
    }

    /// Returns the same node with `subscribe`, which subscribes to the channel with the given name. `subscribe` opens a
    /// connection, because a RESP2 connection with subscriptions can carry no other commands, and returns once the
    /// server has confirmed the subscription.
    #[must_use]
    pub fn with_subscriptions(
        self,
        subscribe: impl Fn(String) -> LockFuture<'static, RedisResult<Box<dyn Subscription>>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Node {
            subscribe: Some(Arc::new(subscribe)),
            ..self
        }
    }

    /// Subscribes to a channel.
    ///
    /// # Errors
    /// Returns an error if the server does not confirm the subscription, and [`LockError::BadCall`] if the node was
    /// created without [`Node::with_subscriptions`].
    pub async fn subscribe(&self, channel: &str) -> Result<Box<dyn Subscription>, LockError> {
        let Some(subscribe) = &self.subscribe else {
            let why = "this connection to Redis does not support subscriptions";
            return Err(LockError::BadCall(why.into()));
        };
        Ok(subscribe(channel.to_owned()).await?)
    }

    /// Returns the same node for a background task, over a separate connection if one can be opened. Dropping an
    /// unanswered command would make a shared connection unusable for all its other users.
    #[must_use]
    pub fn separate(&self) -> Self {
        match &self.open {
            Some(open) => Node {
                connection: open(),
                open: Some(Arc::clone(open)),
                subscribe: self.subscribe.clone(),
            },
            None => self.clone(),
        }
    }
}

impl Clone for Node {
    fn clone(&self) -> Self {
        Node {
            connection: self.connection.share(),
            open: self.open.clone(),
            subscribe: self.subscribe.clone(),
        }
    }
}

impl ConnectionLike for Node {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        self.connection.req_packed_command(cmd)
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.connection.req_packed_commands(pipeline, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.connection.get_db()
    }
}

/// A subscription to one channel, over its own connection. Dropping it ends the subscription.
pub trait Subscription {
    /// Waits for the next message and returns its payload. The caller must bound the wait. Cancel-safe.
    ///
    /// # Errors
    /// Returns an error if the connection broke, so that no more messages will arrive.
    fn message(&mut self) -> LockFuture<'_, RedisResult<Vec<u8>>>;
}

/// Subscribes to the channel with the given name. Resolves when the server has confirmed the subscription: messages
/// that are published later arrive, unless the connection breaks.
pub(crate) type Subscribe =
    dyn Fn(String) -> LockFuture<'static, RedisResult<Box<dyn Subscription>>> + Send + Sync;

//! One Redis server as a lock sees it: anything that is a redis-rs connection.

use std::sync::Arc;

use redis::aio::ConnectionLike;
use redis::{Cmd, Pipeline, RedisFuture, RedisResult, Value};

use crate::contract::{LockError, LockFuture};

/// A connection that background tasks can share. Implemented for all clonable connections.
pub trait SharedConnection: ConnectionLike + Send {
    /// Another handle on the same connection.
    fn share(&self) -> Box<dyn SharedConnection>;
}

impl<C: ConnectionLike + Clone + Send + 'static> SharedConnection for C {
    fn share(&self) -> Box<dyn SharedConnection> {
        Box::new(self.clone())
    }
}

/// Makes connections to one node.
type Open = dyn Fn() -> Box<dyn SharedConnection> + Send + Sync;

/// A connection to one Redis node, real or simulated.
pub struct Node {
    connection: Box<dyn SharedConnection>,
    open: Option<Arc<Open>>,
    subscribe: Option<Arc<Subscribe>>,
}

impl Node {
    /// Wraps a connection of redis-rs, or of a simulation.
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

    /// The same node, whose channels can be subscribed to with `subscribe`, which is given the name
    /// of a channel. It returns when the server has confirmed the subscription, and opens a connection
    /// for it: one with subscriptions can carry no other commands in RESP2.
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
    /// The server does not confirm it, or [`LockError::BadCall`]: the node was made without
    /// [`Node::with_subscriptions`].
    pub async fn subscribe(&self, channel: &str) -> Result<Box<dyn Subscription>, LockError> {
        let Some(subscribe) = &self.subscribe else {
            let why = "this connection to Redis offers no subscriptions";
            return Err(LockError::BadCall(why.into()));
        };
        Ok(subscribe(channel.to_owned()).await?)
    }

    /// The same node for a background task, over a connection of its own if one can be opened. A
    /// dropped command without an answer would make a shared connection unusable for all others on
    /// it.
    #[must_use]
    pub fn apart(&self) -> Self {
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

/// A subscription to one channel, over a connection of its own. It ends when it is dropped.
pub trait Subscription {
    /// The payload of the next message. It waits for as long as none comes, so the caller must bound
    /// it. Cancel-safe.
    ///
    /// # Errors
    /// The connection broke: no more messages will come.
    fn message(&mut self) -> LockFuture<'_, RedisResult<Vec<u8>>>;
}

/// Subscribes to the channel of that name. It is done when the server has confirmed the subscription:
/// what is published later arrives, unless the connection breaks.
pub(crate) type Subscribe =
    dyn Fn(String) -> LockFuture<'static, RedisResult<Box<dyn Subscription>>> + Send + Sync;

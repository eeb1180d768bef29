//! One Redis server as a strategy sees it: anything that is a redis-rs connection.

use std::sync::Arc;

use redis::aio::ConnectionLike;
use redis::{Cmd, Pipeline, RedisFuture, Value};

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
}

impl Node {
    /// Wraps a connection of redis-rs, or of a simulation.
    pub fn new(connection: impl SharedConnection + 'static) -> Self {
        Node {
            connection: Box::new(connection),
            open: None,
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
        }
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

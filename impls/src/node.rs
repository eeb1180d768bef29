//! One Redis server as a strategy sees it: anything that is a redis-rs connection.

use redis::aio::ConnectionLike;
use redis::{Cmd, Pipeline, RedisFuture, Value};

/// A connection that background tasks can share; implemented by itself.
pub trait SharedConnection: ConnectionLike + Send {
    /// Another handle on the same connection.
    fn share(&self) -> Box<dyn SharedConnection>;
}

impl<C: ConnectionLike + Clone + Send + 'static> SharedConnection for C {
    fn share(&self) -> Box<dyn SharedConnection> {
        Box::new(self.clone())
    }
}

/// A connection to one Redis node, whatever stands behind it.
pub struct Node(Box<dyn SharedConnection>);

impl Node {
    /// Wraps a connection of redis-rs, or of a simulation.
    pub fn new(connection: impl SharedConnection + 'static) -> Self {
        Node(Box::new(connection))
    }
}

impl Clone for Node {
    fn clone(&self) -> Self {
        Node(self.0.share())
    }
}

impl ConnectionLike for Node {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        self.0.req_packed_command(cmd)
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.0.req_packed_commands(pipeline, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.0.get_db()
    }
}

//! A connection that counts commands. Used in passes that are not timed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use picklock_impls::{DynLock, Grant, Lock, LockError, Node, Notice};
use redis::aio::ConnectionLike;
use redis::{Cmd, Pipeline, RedisFuture, Value};

/// Number of commands on all connections.
pub type Count = Arc<AtomicU64>;

/// A node that counts the commands that are sent to it.
#[derive(Clone)]
pub struct Counted {
    node: Node,
    count: Count,
}

impl Counted {
    pub fn around(node: Node, count: &Count) -> Node {
        Node::new(Counted {
            node,
            count: Arc::clone(count),
        })
    }
}

impl ConnectionLike for Counted {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.node.req_packed_command(cmd)
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.count
            .fetch_add(pipeline.cmd_iter().count() as u64, Ordering::Relaxed);
        self.node.req_packed_commands(pipeline, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.node.get_db()
    }
}

/// Adapts a boxed lock to the lock trait.
pub struct Behind(pub Box<dyn DynLock>);

impl Lock for Behind {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        self.0.acquire(key, ttl, wait).await
    }

    async fn extend(
        &mut self,
        key: &str,
        grant: &Grant,
        ttl: Duration,
    ) -> Result<Option<Grant>, LockError> {
        self.0.extend(key, grant, ttl).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        self.0.release(key, grant).await
    }

    async fn notice(&mut self) -> Notice {
        self.0.notice().await
    }
}

//! `reads-old-replies`: `set-nx-px` over a client that uses its connection again after a time-out.
//!
//! The next reply on the connection is taken for that of the last command, whosever it is. A `SET` that was
//! refused reads the `OK` of an earlier one, and the other way round (S16: redis-rs#1252, phpredis#1222).
//! Caught by `claims` when a round trip takes longer than the client waits.

use std::time::Duration;

use redis::RedisResult;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::attempts::{self, Attempts};
use crate::contract::{LockError, Taken};
use crate::delegating_lock::DelegatingLock;
use crate::lease::Lease;
use crate::locks::set_nx_px::{SetNxPx, set_nx_px};
use crate::stopwatch::Stopwatch;
use crate::{BuiltInLock, Context, Node};

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "reads-old-replies",
    "mutant: set-nx-px that takes the next reply after a time-out for its own",
    |nodes, context| {
        let (reply, replies) = unbounded_channel();
        Box::new(ReadsOldReplies {
            connection: nodes.first().map(Node::apart),
            lock: SetNxPx::new(nodes, context),
            reply,
            replies,
        })
    },
);

struct ReadsOldReplies {
    lock: SetNxPx,
    /// What is sent here is never given up.
    connection: Option<Node>,
    reply: UnboundedSender<RedisResult<bool>>,
    /// The replies in the order in which they came.
    replies: UnboundedReceiver<RedisResult<bool>>,
}

impl Attempts for ReadsOldReplies {
    fn context(&mut self) -> &mut Context {
        &mut self.lock.context
    }

    async fn attempt(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        let (asked, command) = (Stopwatch::start(), set_nx_px(key, name, lease));
        if let Some(mut connection) = self.connection.clone() {
            let reply = self.reply.clone();
            tokio::task::spawn_local(async move {
                // The client may be gone.
                reply.send(command.query_async(&mut connection).await).ok();
            });
        }
        // A twentieth of the lease.
        let patience = lease.duration() / 20;
        match tokio::time::timeout(patience, self.replies.recv()).await {
            Ok(Some(taken)) => Ok(taken?.then(|| lease.grant(name, asked))),
            _ => Err(LockError::Ambiguous("no reply in time".into())),
        }
    }
}

impl DelegatingLock for ReadsOldReplies {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.lock
    }

    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        attempts::acquire(self, key, ttl, wait).await
    }
}

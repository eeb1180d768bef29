//! `reads-old-replies`: `set-nx-px` over a client that continues to use its connection after a timeout.
//!
//! It takes the next reply on the connection for the reply to its last command, whichever command that reply answers. A
//! refused `SET` then reads the `OK` of an earlier one, and vice versa (S16: redis-rs#1252, phpredis#1222). Caught by
//! `claims` when a round trip takes longer than the client waits.

use redis::RedisResult;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::contract::{LockError, Taken};
use crate::lease::Lease;
use crate::locks::set_nx_px::set_nx_px;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied};
use crate::{BuiltInLock, Node};

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "reads-old-replies",
    "mutant: set-nx-px that takes the next reply after a timeout as its own",
    |nodes, context| {
        let (reply, replies) = unbounded_channel();
        let variation = ReadsOldReplies {
            connection: nodes.first().map(Node::separate),
            reply,
            replies,
        };
        Box::new(Varied::new(nodes, context, variation))
    },
);

struct ReadsOldReplies {
    /// The connection, on which no command is ever cancelled.
    connection: Option<Node>,
    reply: UnboundedSender<RedisResult<bool>>,
    /// Replies in the order of their arrival.
    replies: UnboundedReceiver<RedisResult<bool>>,
}

impl Variation for ReadsOldReplies {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        let (requested, command) = (Stopwatch::start(), set_nx_px(key, name, lease));
        if let Some(mut connection) = lock.variation.connection.clone() {
            let reply = lock.variation.reply.clone();
            tokio::task::spawn_local(async move {
                // The client may be gone.
                reply.send(command.query_async(&mut connection).await).ok();
            });
        }
        // The client waits for a twentieth of the lease.
        let patience = lease.duration() / 20;
        match tokio::time::timeout(patience, lock.variation.replies.recv()).await {
            Ok(Some(taken)) => Ok(taken?.then(|| lease.grant(name, requested))),
            _ => Err(LockError::Ambiguous("no reply in time".into())),
        }
    }
}

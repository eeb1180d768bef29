//! Subscriptions: how a lock hears what is published on a channel.

use redis::RedisResult;

use crate::contract::LockFuture;

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

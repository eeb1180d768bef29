//! A worker's subscription to a channel of a real Redis node. It has its own RESP2 connection.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use picklock_impls::{LockFuture, Subscription};
use redis::aio::PubSub;
use redis::{RedisError, RedisResult};

use super::reconnecting::{Origin, within};

/// A subscription that ends with its connection.
struct Subscribed(PubSub);

/// Connects and subscribes. Fails if this takes longer than `timeout` in total.
pub(super) async fn subscribe(
    origin: Arc<Origin>,
    channel: String,
    timeout: Duration,
) -> RedisResult<Box<dyn Subscription>> {
    let subscribing = async {
        let mut connection = origin.open_for_subscriptions().await?;
        connection.subscribe(channel).await?;
        RedisResult::Ok(connection)
    };
    let connection = within(timeout, "subscription", subscribing).await?;
    Ok(Box::new(Subscribed(connection)))
}

impl Subscription for Subscribed {
    fn message(&mut self) -> LockFuture<'_, RedisResult<Vec<u8>>> {
        Box::pin(async {
            match self.0.on_message().next().await {
                Some(message) => Ok(message.get_payload_bytes().to_vec()),
                None => {
                    let why = "the connection of the subscription is closed";
                    let broken = io::Error::new(io::ErrorKind::ConnectionReset, why);
                    Err(RedisError::from(broken))
                }
            }
        })
    }
}

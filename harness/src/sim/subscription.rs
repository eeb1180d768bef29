//! A simulated subscription: a dedicated connection and its inbox.

use std::io::ErrorKind;

use picklock_impls::{LockFuture, Subscription};
use redis::RedisResult;

use super::client_endpoint::OpenInbox;
use super::connection::{SimConnection, io};

/// A subscription, which ends with its connection.
struct SimSubscription {
    /// Kept only because dropping it would close the connection.
    _connection: SimConnection,
    inbox: OpenInbox,
}

/// Subscribes to a channel on a connection. The caller must not use the connection for any other purpose.
pub(super) async fn subscribe(
    connection: SimConnection,
    channel: String,
) -> RedisResult<Box<dyn Subscription>> {
    let inbox = connection.subscribe(&channel).await?;
    Ok(Box::new(SimSubscription {
        _connection: connection,
        inbox,
    }))
}

impl Subscription for SimSubscription {
    fn message(&mut self) -> LockFuture<'_, RedisResult<Vec<u8>>> {
        Box::pin(async {
            let next = std::future::poll_fn(|context| self.inbox.poll_message(context)).await;
            next.ok_or_else(|| io(ErrorKind::ConnectionReset, "connection reset"))
        })
    }
}

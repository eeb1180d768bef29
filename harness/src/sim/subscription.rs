//! A simulated subscription: a connection that carries nothing else, and its inbox, where what is
//! published waits until it is read.

use std::io::ErrorKind;
use std::task::{Context, Poll};

use picklock_impls::{LockFuture, Subscription};
use redis::RedisResult;

use super::client_endpoint::ClientEndpoint;
use super::connection::{SimConnection, io};
use crate::model::Reply;

/// Ends with its connection.
struct SimSubscription {
    /// Kept open.
    _connection: SimConnection,
    inbox: OpenInbox,
}

/// Subscribes to a channel over this connection, which carries nothing else from now on.
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

/// While it lives, what is published to the subscriptions of one connection is kept.
pub(super) struct OpenInbox {
    endpoint: ClientEndpoint,
    conn: u64,
}

impl OpenInbox {
    pub(super) fn new(endpoint: ClientEndpoint, conn: u64) -> Self {
        endpoint.open_inbox(conn);
        OpenInbox { endpoint, conn }
    }

    /// The payload of the next message. `Ready(None)`: the connection is gone, and none will come.
    fn poll_message(&self, context: &Context<'_>) -> Poll<Option<Vec<u8>>> {
        loop {
            match self.endpoint.poll_publication(self.conn, context) {
                Poll::Ready(Some(published)) => {
                    if let Some(payload) = payload(published) {
                        return Poll::Ready(Some(payload));
                    }
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl Drop for OpenInbox {
    fn drop(&mut self) {
        self.endpoint.close_inbox(self.conn);
    }
}

/// A message has three parts: the word, the channel, the payload.
fn payload(published: Reply) -> Option<Vec<u8>> {
    let (Reply::Array(parts) | Reply::Push(parts)) = published else {
        return None;
    };
    match <[Reply; 3]>::try_from(parts) {
        Ok([Reply::Bulk(word), _, Reply::Bulk(payload)]) if word == b"message" => Some(payload),
        _ => None,
    }
}

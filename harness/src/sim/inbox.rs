//! A subscriber's end of the network: where what is published waits until it is read.

use std::task::{Context, Poll};

use super::client_endpoint::ClientEndpoint;
use crate::model::Reply;

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
    pub(super) fn poll_message(&self, context: &Context<'_>) -> Poll<Option<Vec<u8>>> {
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

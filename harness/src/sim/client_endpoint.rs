//! The clients' end of the network, where connections submit commands and wait for replies.
//!
//! One timer of the network handles the timeouts of all requests, instead of one tokio timer per request.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::args::Args;
use super::submission_queue::{
    Channel, Inbox, RequestError, RequestId, Submission, SubmissionQueue,
};
use crate::model::Reply;
use crate::proxy::LinkId;

/// The clients' end of one simulation's network. Requests from any other thread fail immediately.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientEndpoint {
    simulation: u64,
}

impl ClientEndpoint {
    /// Creates the endpoint of the next simulation on this thread. The endpoint of the previous simulation stops
    /// working.
    pub(super) fn new() -> Self {
        let simulation = SubmissionQueue::begin();
        ClientEndpoint { simulation }
    }

    fn queue<T>(self, work: impl FnOnce(&mut SubmissionQueue) -> T) -> Option<T> {
        SubmissionQueue::with(self.simulation, work)
    }

    /// Creates a channel from a client to a node. The channel has no connection yet.
    pub(super) fn new_channel(self) -> usize {
        let new = self.queue(|queue| {
            queue.channels.push(Channel::default());
            queue.channels.len() - 1
        });
        new.unwrap_or(usize::MAX)
    }

    /// Returns the channel's connection, and opens one if the channel has none. The first call after a refused attempt
    /// returns the time of the refusal as an error.
    pub(super) fn connection(self, channel: usize) -> Result<u64, u64> {
        let opened = self.queue(
            |queue| match queue.channels.get_mut(channel)?.refused_ns.take() {
                Some(refused_ns) => Some(Err(refused_ns)),
                None => queue.open(channel).map(Ok),
            },
        );
        // Requests on a nonexistent connection fail.
        opened.flatten().unwrap_or(Ok(u64::MAX))
    }

    /// Records that an attempt to open a connection on this channel was refused.
    pub(super) fn record_refusal(self, channel: usize, at_ns: u64) {
        self.queue(|queue| {
            if let Some(channel) = queue.channels.get_mut(channel) {
                channel.refused_ns = Some(at_ns);
            }
        });
    }

    /// Closes the channel's connection. If `only` is set, closes no other connection than `only`.
    pub(super) fn close(self, channel: usize, only: Option<u64>) {
        self.queue(|queue| {
            let channel = queue.channels.get_mut(channel)?;
            let matches = |conn: &mut u64| only.is_none_or(|only| *conn == only);
            if let Some(conn) = channel.conn.take_if(matches) {
                queue.submitted.push(Submission::Close { conn });
                queue.notify();
            }
            Some(())
        });
    }

    /// Submits a command, which times out at `deadline_ns`. `write` appends the command's words to a buffer.
    pub(super) fn submit(
        self,
        conn: u64,
        link: LinkId,
        deadline_ns: u64,
        write: impl FnOnce(&mut Args),
    ) -> ReplyFuture {
        let request = self.queue(|queue| {
            let mut args = queue.empty_args();
            write(&mut args);
            let request = queue.register(deadline_ns);
            queue.submitted.push(Submission::Command {
                conn,
                link,
                args,
                request,
            });
            queue.notify();
            request
        });
        ReplyFuture {
            endpoint: self,
            request,
        }
    }

    /// Returns the submissions so far, and replaces the list by `empty`. `used` contains buffers to be reused. After
    /// this call, the next submission wakes the network.
    pub(super) fn take(self, empty: Vec<Submission>, used: &mut Vec<Args>) -> Vec<Submission> {
        let submitted = self.queue(|queue| {
            (queue.notified, queue.woken) = (false, false);
            queue.recycle(used);
            std::mem::replace(&mut queue.submitted, empty)
        });
        submitted.unwrap_or_default()
    }

    /// Completes a request. The call has no effect if the client no longer waits.
    pub(super) fn complete(self, request: RequestId, reply: Result<Reply, RequestError>) {
        let waker = self.queue(|queue| {
            let slot = queue.slot(request)?;
            slot.reply = Some(reply);
            std::mem::take(&mut slot.waits).then(|| slot.waker.take())
        });
        if let Some(waker) = waker.flatten().flatten() {
            // The queue must not be borrowed here, because a waker may run arbitrary code.
            waker.wake_by_ref();
            self.queue(|queue| queue.store_waker(request, waker));
        }
    }

    /// Delivers a published message to a connection's inbox.
    pub(super) fn deliver(self, conn: u64, published: Reply) {
        self.wake_subscriber(conn, |inbox| inbox.published.push_back(published));
    }

    /// Ends a connection's inbox, because the connection was reset.
    pub(super) fn end_inbox(self, conn: u64) {
        self.wake_subscriber(conn, |inbox| inbox.ended = true);
    }

    fn wake_subscriber(self, conn: u64, change: impl FnOnce(&mut Inbox)) {
        let waker = self.queue(|queue| {
            let inbox = queue.inboxes.get_mut(&conn)?;
            change(inbox);
            inbox.waker.take()
        });
        if let Some(waker) = waker.flatten() {
            waker.wake();
        }
    }

    /// Polls for the next published message. Returns `Ready(None)` if no more will arrive.
    fn poll_publication(self, conn: u64, context: &Context<'_>) -> Poll<Option<Reply>> {
        let polled = self.queue(|queue| {
            let inbox = queue.inboxes.get_mut(&conn)?;
            if let Some(published) = inbox.published.pop_front() {
                return Some((Poll::Ready(Some(published)), None));
            }
            if inbox.ended {
                return Some((Poll::Ready(None), None));
            }
            let before = inbox.waker.replace(context.waker().clone());
            Some((Poll::Pending, before))
        });
        // The previous waker is dropped here, while the queue is not borrowed.
        let (published, _) = polled.flatten().unwrap_or((Poll::Ready(None), None));
        published
    }

    /// Fails the requests that have timed out, and returns when the next request will time out. A reply that arrives
    /// before the client has seen the failure replaces the failure, as for a real client that was frozen during its
    /// timeout.
    pub(super) fn expire(self, now_ns: u64) -> Option<u64> {
        loop {
            let (at_ns, request) = self.queue(SubmissionQueue::next_deadline).flatten()?;
            if at_ns > now_ns {
                return Some(at_ns);
            }
            self.complete(request, Err(RequestError::TimedOut));
        }
    }

    /// Makes the network run another turn.
    pub(super) fn notify(self) {
        self.queue(SubmissionQueue::notify);
    }

    /// Returns `true` if something was submitted, or the network was notified, since the network's last turn. Otherwise
    /// the network's task is woken at the next submission or notification.
    pub(super) fn is_notified(self, context: &Context<'_>) -> bool {
        let result = self.queue(|queue| {
            let waker = queue.network.as_ref();
            let is_current = waker.is_some_and(|waker| waker.will_wake(context.waker()));
            let before = (!is_current).then(|| queue.network.replace(context.waker().clone()));
            (queue.notified, before)
        });
        // The previous waker is dropped here, while the queue is not borrowed.
        result.is_some_and(|(notified, _)| notified)
    }

    /// Runs a host's turn, and afterwards wakes the network if the host has submitted something.
    ///
    /// A wake-up during the turn would come from one of the host's tasks. tokio would treat it as an external wake-up,
    /// and would needlessly poll all tasks again.
    pub(super) fn deferring_wakeups<T>(self, turn: impl FnOnce() -> T) -> T {
        self.queue(|queue| queue.deferred = true);
        let result = turn();
        self.queue(|queue| {
            queue.deferred = false;
            if queue.notified {
                queue.notify();
            }
        });
        result
    }

    /// Detaches the network after its end, so that it is not woken any more.
    pub(super) fn detach_network(self) {
        let network = self.queue(|queue| queue.network.take());
        drop(network);
    }
}

/// A future for the reply to a request. Dropping the future ends the client's wait.
pub(super) struct ReplyFuture {
    endpoint: ClientEndpoint,
    /// The request, or `None` if the request is complete or will never get a reply.
    request: Option<RequestId>,
}

impl Future for ReplyFuture {
    type Output = Result<Reply, RequestError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        const NO_NETWORK: Poll<Result<Reply, RequestError>> = Poll::Ready(Err(RequestError::Reset));
        let Some(request) = self.request else {
            return NO_NETWORK;
        };
        let polled = self.endpoint.queue(|queue| {
            let slot = queue.slot(request)?;
            if let Some(reply) = slot.reply.take() {
                queue.release(request);
                return Some((Poll::Ready(reply), None));
            }
            slot.waits = true;
            let waker = slot.waker.as_ref();
            let is_current = waker.is_some_and(|waker| waker.will_wake(context.waker()));
            let before = (!is_current).then(|| slot.waker.replace(context.waker().clone()));
            Some((Poll::Pending, before.flatten()))
        });
        // The previous waker is dropped here, while the queue is not borrowed.
        let (reply, _) = polled.flatten().unwrap_or((NO_NETWORK, None));
        if reply.is_ready() {
            self.request = None;
        }
        reply
    }
}

impl Drop for ReplyFuture {
    fn drop(&mut self) {
        if let Some(request) = self.request {
            self.endpoint.queue(|queue| queue.release(request));
        }
    }
}

/// Collects the messages published to one connection's subscriptions until it is dropped.
pub(super) struct OpenInbox {
    endpoint: ClientEndpoint,
    conn: u64,
}

impl OpenInbox {
    pub(super) fn new(endpoint: ClientEndpoint, conn: u64) -> Self {
        endpoint.queue(|queue| queue.inboxes.insert(conn, Inbox::default()));
        OpenInbox { endpoint, conn }
    }

    /// Polls for the payload of the next message. Returns `Ready(None)` if the connection was reset
    /// and no message will arrive.
    pub(super) fn poll_message(&self, context: &Context<'_>) -> Poll<Option<Vec<u8>>> {
        while let Some(published) = ready!(self.endpoint.poll_publication(self.conn, context)) {
            if let Some(payload) = payload(published) {
                return Poll::Ready(Some(payload));
            }
        }
        Poll::Ready(None)
    }
}

impl Drop for OpenInbox {
    fn drop(&mut self) {
        let inbox = (self.endpoint).queue(|queue| queue.inboxes.remove(&self.conn));
        drop(inbox);
    }
}

/// Returns the payload of a message, which has three parts: the word `message`, the channel and the payload.
fn payload(published: Reply) -> Option<Vec<u8>> {
    let (Reply::Array(parts) | Reply::Push(parts)) = published else {
        return None;
    };
    match <[Reply; 3]>::try_from(parts) {
        Ok([Reply::Bulk(word), _, Reply::Bulk(payload)]) if word == b"message" => Some(payload),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const LINK: LinkId = LinkId { worker: 0, node: 0 };

    fn ping(endpoint: ClientEndpoint) -> Option<Result<Reply, RequestError>> {
        let conn = endpoint.connection(endpoint.new_channel()).unwrap();
        let write = |args: &mut Args| args.push(b"PING");
        endpoint.submit(conn, LINK, 1, write).now_or_never()
    }

    #[test]
    fn request_on_another_thread_fails() {
        let endpoint = ClientEndpoint::new();
        assert_eq!(ping(endpoint), None);
        let elsewhere = std::thread::spawn(move || ping(endpoint)).join().unwrap();
        assert_eq!(elsewhere, Some(Err(RequestError::Reset)));
        assert_eq!(endpoint.take(Vec::new(), &mut Vec::new()).len(), 1);
    }

    #[test]
    fn simulations_on_one_thread_are_isolated() {
        let last = ClientEndpoint::new();
        let waiting = last.submit(0, LINK, 1, |args| args.push(b"PING"));
        let next = ClientEndpoint::new();
        assert_eq!(waiting.now_or_never(), Some(Err(RequestError::Reset)));
        assert_eq!(ping(last), Some(Err(RequestError::Reset)));
        assert!(next.take(Vec::new(), &mut Vec::new()).is_empty());
    }

    #[test]
    fn channel_opens_one_connection_after_another() {
        let endpoint = ClientEndpoint::new();
        let (one, two) = (endpoint.new_channel(), endpoint.new_channel());
        assert_eq!(
            (endpoint.connection(one), endpoint.connection(two)),
            (Ok(0), Ok(1))
        );
        assert_eq!(endpoint.connection(one), Ok(0));
        endpoint.close(one, Some(1));
        assert_eq!(endpoint.connection(one), Ok(0));
        endpoint.close(one, Some(0));
        endpoint.record_refusal(one, 7);
        assert_eq!(endpoint.connection(one), Err(7));
        assert_eq!(endpoint.connection(one), Ok(2));
        assert_eq!(endpoint.take(Vec::new(), &mut Vec::new()).len(), 1);
    }
}

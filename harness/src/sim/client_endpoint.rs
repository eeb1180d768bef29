//! The clients' end of the network: where connections submit commands, and wait for replies.
//!
//! The network looks after the timeouts of all requests with one timer, instead of one of tokio's
//! for each.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::args::Args;
use super::submission_queue::{
    Channel, Inbox, RequestError, RequestId, Submission, SubmissionQueue,
};
use crate::model::Reply;
use crate::proxy::LinkId;

/// The clients' end of one simulation's network. On any thread but its own every request fails at
/// once.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientEndpoint {
    simulation: u64,
}

impl ClientEndpoint {
    /// For a simulation that this thread is about to run, and that ends before the next.
    pub(super) fn new() -> Self {
        let simulation = SubmissionQueue::begin();
        ClientEndpoint { simulation }
    }

    fn queue<T>(self, work: impl FnOnce(&mut SubmissionQueue) -> T) -> Option<T> {
        SubmissionQueue::of(self.simulation, work)
    }

    /// A new channel from a client to a node, without a connection.
    pub(super) fn new_channel(self) -> usize {
        let new = self.queue(|queue| {
            queue.channels.push(Channel::default());
            queue.channels.len() - 1
        });
        new.unwrap_or(usize::MAX)
    }

    /// The channel's connection, opened if there is none. After an attempt that was refused, the
    /// error is when that was, once.
    pub(super) fn connection(self, channel: usize) -> Result<u64, u64> {
        let opened = self.queue(
            |queue| match queue.channels.get_mut(channel)?.refused_ns.take() {
                Some(refused_ns) => Some(Err(refused_ns)),
                None => queue.open(channel).map(Ok),
            },
        );
        // Requests on a connection that does not exist fail.
        opened.flatten().unwrap_or(Ok(u64::MAX))
    }

    /// An attempt to open a connection on this channel was refused.
    pub(super) fn record_refusal(self, channel: usize, at_ns: u64) {
        self.queue(|queue| {
            if let Some(channel) = queue.channels.get_mut(channel) {
                channel.refused_ns = Some(at_ns);
            }
        });
    }

    /// Closes the channel's connection. `only`: if it is this one; `None`: whichever it is.
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

    /// Submits a command, whose words `write` writes. It times out at `deadline_ns`.
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

    /// Takes what was submitted. `empty` replaces it; `used` are buffers to be reused. The network
    /// is woken for the next submission.
    pub(super) fn take(self, empty: Vec<Submission>, used: &mut Vec<Args>) -> Vec<Submission> {
        let submitted = self.queue(|queue| {
            (queue.notified, queue.woken) = (false, false);
            queue.recycle(used);
            std::mem::replace(&mut queue.submitted, empty)
        });
        submitted.unwrap_or_default()
    }

    /// Completes a request. If its client no longer waits, nothing happens.
    pub(super) fn complete(self, request: RequestId, reply: Result<Reply, RequestError>) {
        let waker = self.queue(|queue| {
            let slot = queue.slot(request)?;
            slot.reply = Some(reply);
            std::mem::take(&mut slot.waits).then(|| slot.waker.take())
        });
        if let Some(waker) = waker.flatten().flatten() {
            // Not while the queue is borrowed: a waker can run any code.
            waker.wake_by_ref();
            self.queue(|queue| queue.keep_waker(request, waker));
        }
    }

    /// Something published has arrived on a connection.
    pub(super) fn deliver(self, conn: u64, published: Reply) {
        self.wake_subscriber(conn, |inbox| inbox.published.push_back(published));
    }

    /// The connection was reset: nothing more will arrive on it.
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

    /// What was published next on a connection. `Ready(None)`: nothing more will come.
    fn poll_publication(self, conn: u64, context: &Context<'_>) -> Poll<Option<Reply>> {
        let looked = self.queue(|queue| {
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
        let (published, _) = looked.flatten().unwrap_or((Poll::Ready(None), None));
        published
    }

    /// Fails the requests that have timed out, and returns when the next one will. A reply that
    /// comes later, but before the client has seen the failure, replaces it: a frozen client
    /// cannot tell the difference.
    pub(super) fn expire(self, now_ns: u64) -> Option<u64> {
        loop {
            let (at_ns, request) = self.queue(SubmissionQueue::next_deadline).flatten()?;
            if at_ns > now_ns {
                return Some(at_ns);
            }
            self.complete(request, Err(RequestError::TimedOut));
        }
    }

    /// Makes the network look again.
    pub(super) fn notify(self) {
        self.queue(SubmissionQueue::notify);
    }

    /// True when something was submitted, or the network was notified, since it last looked. Else
    /// its task is woken when that happens.
    pub(super) fn is_notified(self, context: &Context<'_>) -> bool {
        let looked = self.queue(|queue| {
            let known = queue.network.as_ref();
            let known = known.is_some_and(|known| known.will_wake(context.waker()));
            let before = (!known).then(|| queue.network.replace(context.waker().clone()));
            (queue.notified, before)
        });
        // The previous waker is dropped here, while the queue is not borrowed.
        looked.is_some_and(|(notified, _)| notified)
    }

    /// Runs a host's turn, and wakes the network after it if the host has submitted something.
    ///
    /// A wake-up within the turn would come from among the host's own tasks, and tokio would take
    /// it for one from outside: it would poll everything once more, for nothing.
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

    /// The network has ended, and is not woken any more.
    pub(super) fn detach_network(self) {
        let network = self.queue(|queue| queue.network.take());
        drop(network);
    }
}

/// The reply to a request. When it is dropped, the client no longer waits.
pub(super) struct ReplyFuture {
    endpoint: ClientEndpoint,
    /// `None`: it is complete, or there will never be a reply.
    request: Option<RequestId>,
}

impl Future for ReplyFuture {
    type Output = Result<Reply, RequestError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        const NO_NETWORK: Poll<Result<Reply, RequestError>> = Poll::Ready(Err(RequestError::Reset));
        let Some(request) = self.request else {
            return NO_NETWORK;
        };
        let looked = self.endpoint.queue(|queue| {
            let slot = queue.slot(request)?;
            if let Some(reply) = slot.reply.take() {
                queue.release(request);
                return Some((Poll::Ready(reply), None));
            }
            slot.waits = true;
            let known = slot.waker.as_ref();
            let known = known.is_some_and(|known| known.will_wake(context.waker()));
            let before = (!known).then(|| slot.waker.replace(context.waker().clone()));
            Some((Poll::Pending, before.flatten()))
        });
        // The previous waker is dropped here, while the queue is not borrowed.
        let (reply, _) = looked.flatten().unwrap_or((NO_NETWORK, None));
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

/// While it lives, what is published to the subscriptions of one connection is kept.
pub(super) struct OpenInbox {
    endpoint: ClientEndpoint,
    conn: u64,
}

impl OpenInbox {
    pub(super) fn new(endpoint: ClientEndpoint, conn: u64) -> Self {
        endpoint.queue(|queue| queue.inboxes.insert(conn, Inbox::default()));
        OpenInbox { endpoint, conn }
    }

    /// The payload of the next message. `Ready(None)`: the connection is gone, and none will come.
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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const LINK: LinkId = LinkId { worker: 0, node: 0 };

    fn ask(endpoint: ClientEndpoint) -> Option<Result<Reply, RequestError>> {
        let conn = endpoint.connection(endpoint.new_channel()).unwrap();
        let write = |args: &mut Args| args.push(b"PING");
        endpoint.submit(conn, LINK, 1, write).now_or_never()
    }

    #[test]
    fn on_another_thread_every_request_fails() {
        let endpoint = ClientEndpoint::new();
        assert_eq!(ask(endpoint), None);
        let elsewhere = std::thread::spawn(move || ask(endpoint)).join().unwrap();
        assert_eq!(elsewhere, Some(Err(RequestError::Reset)));
        assert_eq!(endpoint.take(Vec::new(), &mut Vec::new()).len(), 1);
    }

    #[test]
    fn a_simulation_sees_nothing_of_the_one_before() {
        let last = ClientEndpoint::new();
        let waiting = last.submit(0, LINK, 1, |args| args.push(b"PING"));
        let next = ClientEndpoint::new();
        assert_eq!(waiting.now_or_never(), Some(Err(RequestError::Reset)));
        assert_eq!(ask(last), Some(Err(RequestError::Reset)));
        assert!(next.take(Vec::new(), &mut Vec::new()).is_empty());
    }

    #[test]
    fn a_channel_opens_one_connection_after_another() {
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

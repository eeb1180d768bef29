//! The worker's end of the protocol, for built-in locks.
//!
//! It needs no process and no global state: it works on any pair of streams, in its own process or in a simulation.

use std::time::Duration;

use futures_util::future::FusedFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use picklock_impls::{Canceller, DynLock, Grant, LockError, Notice};
use picklock_scenarios::LockKind;
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt};

use super::line_reader::LineReader;
use super::local_channel::{Receiver, local_channel};
use super::message::{
    Answer, Init, Mode, Notification, Offers, PROTOCOL, Request, RequestKind, SHARED_PROTOCOL,
    WorkerMessage,
};
use super::served_clients::{
    Clients, Dispatched, Requests, failed, invalid, unknown_token, with_client,
};
use super::termination::Termination;
use crate::clock::{Clock, millis};
use crate::lock_kinds::kind_of;

/// The reason why a worker cannot continue. It can only be reported in the worker's log.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Requests cannot be read.
    #[error("cannot read requests: {0}")]
    Read(#[source] std::io::Error),
    /// Replies cannot be written, because the driver is gone.
    #[error("cannot write a reply: {0}")]
    Write(#[source] std::io::Error),
    /// The process was asked to end, and its clients have cleaned up.
    #[error("ended by SIGTERM")]
    Terminated,
}

/// Answers requests until the input ends.
///
/// `build` creates the lock when `init` arrives, and one for each client that joins. `log` receives messages about
/// requests without an `id`, which cannot be answered. Locks with background tasks need a `tokio::task::LocalSet`
/// around the call. When `terminated` completes, all clients clean up, and their requests stay unanswered.
///
/// # Errors
/// Returns an error if one of the streams breaks, or after `terminated` has completed.
pub async fn serve<B, F>(
    reader: impl AsyncBufRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
    build: B,
    mut log: impl FnMut(&str),
    terminated: impl Future<Output = ()>,
) -> Result<(), ServeError>
where
    B: Fn(Init, Canceller) -> F,
    F: Future<Output = Result<Box<dyn DynLock>, String>>,
{
    let mut lines = LineReader::new(reader);
    let (outbox, mut messages) = local_channel();
    let mut serving = FuturesUnordered::new();
    let mut terminated = std::pin::pin!(terminated.fuse());
    let begin = |client, requests, termination| {
        let outbox = outbox.clone();
        let send = move |message| outbox.send(with_client(client, message)).is_ok();
        answer_messages(requests, &build, termination, send)
    };
    // A client that has the process to itself has no number.
    let (unshared, requests) = local_channel();
    let mut terminations = vec![Termination::default()];
    serving.push(begin(None, requests, terminations[0].clone()));
    let mut clients = Some(Clients::new(unshared));
    loop {
        let message = tokio::select! {
            biased;
            message = messages.next() => message,
            () = &mut terminated => {
                // No more requests are read.
                clients = None;
                terminations.iter().for_each(Termination::request);
                continue;
            }
            line = lines.next(), if clients.is_some() => {
                let Some(line) = line.map_err(ServeError::Read)? else {
                    // Requests that were read are still answered.
                    clients = None;
                    continue;
                };
                let Some(clients) = &mut clients else { continue };
                match clients.dispatch(line) {
                    Ok(Dispatched::Passed) => continue,
                    Ok(Dispatched::Joined { client, requests }) => {
                        let termination = Termination::default();
                        terminations.push(termination.clone());
                        serving.push(begin(Some(client), requests, termination));
                        continue;
                    }
                    Ok(Dispatched::Answered(message)) => Some(message),
                    Err(help) => {
                        log(&help);
                        continue;
                    }
                }
            }
            // Even if every client has ended, the process lives as long as its input.
            ended = serving.next(), if clients.is_none() || !serving.is_empty() => match ended {
                Some(()) => continue,
                None => messages.take(),
            },
        };
        let Some(message) = message else {
            let ended = (!terminated.is_terminated()).then_some(());
            return ended.ok_or(ServeError::Terminated);
        };
        let mut text = serde_json::to_string(&message)
            .map_err(|error| ServeError::Write(std::io::Error::other(error)))?;
        text.push('\n');
        let written = async {
            writer.write_all(text.as_bytes()).await?;
            writer.flush().await
        };
        written.await.map_err(ServeError::Write)?;
    }
}

/// Answers the requests of one client, which are messages instead of lines.
///
/// Returns when there are no more requests, when `send` returns `false` because the driver is gone, or after the
/// clean-up that `termination` requests.
pub async fn answer_messages<B, F>(
    requests: Receiver<Request>,
    build: B,
    termination: Termination,
    send: impl FnMut(WorkerMessage) -> bool,
) where
    B: FnOnce(Init, Canceller) -> F,
    F: Future<Output = Result<Box<dyn DynLock>, String>>,
{
    let mut worker = Worker::new(build);
    let is_terminated = tokio::select! {
        biased;
        // The request in progress is abandoned, and its command may still be executed.
        () = termination.requested() => true,
        () = answer_all(&mut worker, requests, send) => false,
    };
    if is_terminated {
        worker.terminate().await;
    }
    termination.finish();
}

async fn answer_all<B, F>(
    worker: &mut Worker<B>,
    requests: Receiver<Request>,
    mut send: impl FnMut(WorkerMessage) -> bool,
) where
    B: FnOnce(Init, Canceller) -> F,
    F: Future<Output = Result<Box<dyn DynLock>, String>>,
{
    let mut requests = Requests::new(requests);
    loop {
        let mut ends = false;
        let message = match worker.next(requests.next()).await {
            Incoming::Request(request) => {
                let read_at = worker.clock.elapsed();
                let canceller = worker.canceller.clone();
                canceller.reset();
                ends = matches!(request.ask, RequestKind::EndClient);
                let acquire = match request.ask {
                    RequestKind::Acquire { .. } => Some(request.id),
                    RequestKind::Cancel { .. } => continue,
                    _ => None,
                };
                tokio::select! {
                    biased;
                    reply = worker.reply(request, read_at) => reply,
                    never = requests.watch_for_cancel(acquire, &canceller) => match never {},
                }
            }
            Incoming::Notice(notice) => worker.event(notice),
            Incoming::End => return,
        };
        // The lock's background tasks belong to the process, not to this client.
        if !send(message) || ends {
            return;
        }
    }
}

enum Incoming {
    Request(Request),
    Notice(Notice),
    End,
}

/// A grant that has not been released.
struct Held {
    key: String,
    grant: Grant,
    /// When the acquire request of this grant was read.
    read_at: Duration,
}

struct Worker<B> {
    clock: Clock,
    build: Option<B>,
    lock: Option<Box<dyn DynLock>>,
    /// A client has few grants at a time. Those of several locks may have the same token.
    grants: Vec<Held>,
    canceller: Canceller,
}

impl<B, F> Worker<B>
where
    B: FnOnce(Init, Canceller) -> F,
    F: Future<Output = Result<Box<dyn DynLock>, String>>,
{
    fn new(build: B) -> Self {
        Worker {
            clock: Clock::start(),
            build: Some(build),
            lock: None,
            grants: Vec::new(),
            canceller: Canceller::default(),
        }
    }

    /// Returns the next request or notice. Notices come first, so that a busy driver does not delay the report of a
    /// lost lease.
    async fn next(&mut self, request: impl Future<Output = Option<Request>>) -> Incoming {
        let request = match &mut self.lock {
            None => request.await,
            Some(lock) => tokio::select! {
                biased;
                notice = lock.notice() => return Incoming::Notice(notice),
                request = request => request,
            },
        };
        request.map_or(Incoming::End, Incoming::Request)
    }

    /// Converts a notice into an event. The remaining lease is computed last, immediately before it is written.
    fn event(&self, notice: Notice) -> WorkerMessage {
        let client = None;
        WorkerMessage::Event(match notice {
            Notice::Extended { token, valid_until } => Notification::Extended {
                elapsed_ms: self
                    .grants
                    .iter()
                    .find(|held| held.grant.token == token)
                    .map(|held| self.since(held.read_at)),
                token,
                valid_ms: millis(valid_until.left()),
                client,
            },
            Notice::Lost { token } => Notification::Lost { token, client },
        })
    }

    async fn reply(&mut self, request: Request, read_at: Duration) -> WorkerMessage {
        let Request { id, client, ask } = request;
        let answer = match ask {
            RequestKind::Ping => Answer::Pong,
            RequestKind::Init(init) => self.init(init).await,
            RequestKind::Acquire {
                key,
                ttl_ms,
                wait_ms,
                mode,
                permits,
            } => {
                self.acquire(read_at, &key, (ttl_ms, wait_ms), (mode, permits))
                    .await
            }
            RequestKind::Extend { key, token, ttl_ms } => {
                self.extend(read_at, &key, &token, ttl_ms).await
            }
            RequestKind::Act { key, token } => self.may_act(&key, &token).await,
            RequestKind::Release { key, token } => self.release(&key, &token, false).await,
            RequestKind::SectionFailed { key, token } => self.release(&key, &token, true).await,
            RequestKind::ReleaseUnheld { key } => self.release_unheld(&key).await,
            // The request that it cancels has been answered already.
            RequestKind::Cancel { .. } => invalid("there is no request to cancel"),
            RequestKind::EndClient => Answer::Ended,
            RequestKind::Join(_) => invalid("`join` applies to a process, not to a client"),
            RequestKind::Block { .. } => invalid("a single client cannot be blocked"),
        };
        WorkerMessage::Reply { id, client, answer }
    }

    async fn init(&mut self, init: Init) -> Answer {
        let protocol = init.protocol;
        if protocol != PROTOCOL {
            return invalid(format!(
                "protocol {protocol} is not supported, only {PROTOCOL}"
            ));
        }
        let Some(build) = self.build.take() else {
            return invalid("received a second `init`");
        };
        match build(init, self.canceller.clone()).await {
            Ok(mut lock) => {
                lock.start().await;
                let mut offers = OFFERS;
                offers.reentrant = lock.is_reentrant().then_some(true);
                let kind = kind_of(lock.kind());
                offers.kinds = (kind != LockKind::Mutex).then(|| vec![kind]);
                let min_hold = lock.min_hold();
                offers.several_permits = lock.takes_several_permits().then_some(true);
                self.lock = Some(lock);
                Answer::Ready {
                    name: None,
                    version: None,
                    extends: None,
                    min_hold_ms: (!min_hold.is_zero()).then(|| millis(min_hold)),
                    lease_margin_ms: None,
                    offers,
                }
            }
            Err(reason) => invalid(reason),
        }
    }

    async fn acquire(
        &mut self,
        read_at: Duration,
        key: &str,
        (ttl_ms, wait_ms): (u64, u64),
        (mode, permits): (Option<Mode>, Option<u32>),
    ) -> Answer {
        let Some(lock) = &mut self.lock else {
            return invalid(NO_LOCK);
        };
        let ttl = Duration::from_millis(ttl_ms);
        let wait = Duration::from_millis(wait_ms);
        let taken = match (mode, permits) {
            (Some(Mode::Shared), _) => lock.acquire_shared(key, ttl, wait).await,
            (_, Some(permits)) => lock.acquire_permits(key, permits, ttl, wait).await,
            _ => lock.acquire(key, ttl, wait).await,
        };
        match taken {
            Ok(Some(grant)) => self.granted(key, grant, (read_at, read_at)),
            Ok(None) if self.canceller.is_cancelled() => Answer::Cancelled,
            Ok(None) => Answer::Refused,
            Err(error) => failed(&error),
        }
    }

    async fn extend(&mut self, read_at: Duration, key: &str, token: &str, ttl_ms: u64) -> Answer {
        let Some(lock) = &mut self.lock else {
            return invalid(NO_LOCK);
        };
        let Some(index) = position(&self.grants, key, token) else {
            return unknown_token(token);
        };
        let held = &self.grants[index];
        let ttl = Duration::from_millis(ttl_ms);
        match lock.extend(key, &held.grant, ttl).await {
            Ok(Some(grant)) => {
                let acquired_at = held.read_at;
                self.grants.remove(index);
                self.granted(key, grant, (read_at, acquired_at))
            }
            Ok(None) => Answer::Refused,
            Err(LockError::Unsupported(message)) => {
                let message = Some(message);
                Answer::Unsupported { message }
            }
            Err(error) => failed(&error),
        }
    }

    /// Asks the lock whether this client still leads.
    async fn may_act(&mut self, key: &str, token: &str) -> Answer {
        let Some(lock) = &mut self.lock else {
            return invalid(NO_LOCK);
        };
        let Some(index) = position(&self.grants, key, token) else {
            return unknown_token(token);
        };
        match lock.may_act(key, &self.grants[index].grant).await {
            Ok(Some(grant)) => Answer::Acting { epoch: grant.fence },
            Ok(None) => Answer::Refused,
            Err(error) => failed(&error),
        }
    }

    /// Releases a grant, normally or as the lock does if the critical section failed.
    async fn release(&mut self, key: &str, token: &str, section_failed: bool) -> Answer {
        let Some(lock) = &mut self.lock else {
            return invalid(NO_LOCK);
        };
        let Some(index) = position(&self.grants, key, token) else {
            return unknown_token(token);
        };
        let held = &self.grants[index];
        let released = if section_failed {
            lock.section_failed(key, &held.grant)
        } else {
            lock.release(key, &held.grant)
        };
        match released.await {
            Ok(released) => {
                self.grants.remove(index);
                let released = Some(released);
                Answer::Released { released }
            }
            // Keep the grant: without its token the release could not be repeated (bug class L3).
            Err(error) => failed(&error),
        }
    }

    /// Asks the lock to release a grant that it never made.
    async fn release_unheld(&mut self, key: &str) -> Answer {
        let Some(lock) = &mut self.lock else {
            return invalid(NO_LOCK);
        };
        let never = Grant {
            token: "never granted".to_owned(),
            fence: None,
            valid_until: None,
        };
        match lock.release(key, &never).await {
            Ok(released) => Answer::Released {
                released: Some(released),
            },
            Err(error) => failed(&error),
        }
    }

    /// Runs the lock's clean-up.
    async fn terminate(&mut self) {
        let held = self.grants.drain(..).map(|held| (held.key, held.grant));
        let held: Vec<(String, Grant)> = held.collect();
        if let Some(lock) = &mut self.lock {
            lock.terminate(&held).await;
        }
    }

    /// Returns the time since `then` in milliseconds, rounded down.
    fn since(&self, then: Duration) -> u64 {
        millis(self.clock.elapsed().saturating_sub(then))
    }

    /// Stores the grant, and returns the reply. The remaining lease is computed last, immediately before it is
    /// written: time that passes between the two figures must not make it longer.
    fn granted(
        &mut self,
        key: &str,
        grant: Grant,
        (read_at, acquired_at): (Duration, Duration),
    ) -> Answer {
        let held = Held {
            key: key.to_owned(),
            grant: grant.clone(),
            read_at: acquired_at,
        };
        // A holder that takes its lock again may get the same token again.
        match position(&self.grants, key, &grant.token) {
            Some(index) => self.grants[index] = held,
            None => self.grants.push(held),
        }
        let elapsed_ms = Some(self.since(read_at));
        Answer::Granted {
            token: grant.token,
            fence: grant.fence,
            valid_ms: grant.valid_until.map(|deadline| millis(deadline.left())),
            elapsed_ms,
        }
    }
}

/// The features that every built-in lock offers.
const OFFERS: Offers = Offers {
    protocol: Some(SHARED_PROTOCOL),
    clients: Some(true),
    own_connections: Some(true),
    blocks_loop: Some(true),
    blocks_thread: None,
    cancels: Some(true),
    releases_unheld: Some(true),
    fails_sections: Some(true),
    reentrant: None,
    ends_clients: Some(true),
    kinds: None,
    several_permits: None,
};

const NO_LOCK: &str = "there is no lock yet: send `init` first, and wait for `ready`";

fn position(grants: &[Held], key: &str, token: &str) -> Option<usize> {
    grants
        .iter()
        .position(|held| held.grant.token == token && held.key == key)
}

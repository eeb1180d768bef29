//! The worker's end of the protocol, for built-in locks.
//!
//! It needs no process and no global state: it works on any pair of streams, in a process of its
//! own or in a simulation.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use picklock_impls::{DynLock, Grant, LockError, Notice};
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt};

use super::line_reader::{Line, LineReader};
use super::local_channel::Receiver;
use super::message::{Answer, Init, Notification, PROTOCOL, Request, RequestKind, WorkerMessage};
use crate::clock::{Clock, millis};

/// Why a worker cannot continue. It can only be reported in its log.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Requests cannot be read.
    #[error("cannot read requests: {0}")]
    Read(#[source] std::io::Error),
    /// Replies cannot be written: the driver is gone.
    #[error("cannot write a reply: {0}")]
    Write(#[source] std::io::Error),
}

/// Answers requests until the input ends.
///
/// `build` makes the lock when `init` comes. `complain` receives messages about requests without an
/// id, which cannot be answered. They belong in a log. Locks with background tasks need a
/// `tokio::task::LocalSet` around the call.
///
/// # Errors
/// One of the streams breaks.
pub async fn serve<B, F>(
    reader: impl AsyncBufRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
    build: B,
    mut complain: impl FnMut(&str),
) -> Result<(), ServeError>
where
    B: FnOnce(Init) -> F,
    F: Future<Output = Result<Box<dyn DynLock>, String>>,
{
    let mut lines = LineReader::new(reader);
    let mut worker = Worker::new(build);
    loop {
        let said = match worker.next(lines.next()).await.map_err(ServeError::Read)? {
            Incoming::End => return Ok(()),
            Incoming::Request(line) => {
                let read_at = worker.clock.elapsed();
                match understand(line) {
                    Ok(request) => worker.reply(request, read_at).await,
                    Err(Misunderstood { id: Some(id), help }) => {
                        let answer = wrong(help);
                        WorkerMessage::Reply { id, answer }
                    }
                    Err(Misunderstood { id: None, help }) => {
                        complain(&help);
                        continue;
                    }
                }
            }
            Incoming::Notice(notice) => worker.event(notice),
        };
        let mut text = serde_json::to_string(&said)
            .map_err(|error| ServeError::Write(std::io::Error::other(error)))?;
        text.push('\n');
        let written = async {
            writer.write_all(text.as_bytes()).await?;
            writer.flush().await
        };
        written.await.map_err(ServeError::Write)?;
    }
}

/// The same for a worker in the driver's own process: messages instead of lines.
///
/// Ends when there are no more requests, or when `say` returns false because the driver is gone.
pub async fn answer_messages<B, F>(
    mut requests: Receiver<Request>,
    build: B,
    mut say: impl FnMut(WorkerMessage) -> bool,
) where
    B: FnOnce(Init) -> F,
    F: Future<Output = Result<Box<dyn DynLock>, String>>,
{
    let mut worker = Worker::new(build);
    loop {
        let next = async { Ok(requests.next().await) };
        let said = match worker.next(next).await {
            Ok(Incoming::Request(request)) => {
                let read_at = worker.clock.elapsed();
                worker.reply(request, read_at).await
            }
            Ok(Incoming::Notice(notice)) => worker.event(notice),
            Ok(Incoming::End) | Err(_) => return,
        };
        if !say(said) {
            return;
        }
    }
}

/// The next input of a worker.
enum Incoming<R> {
    Request(R),
    Notice(Notice),
    End,
}

/// A line that is not a request.
struct Misunderstood {
    id: Option<u64>,
    help: String,
}

fn understand(line: Line) -> Result<Request, Misunderstood> {
    let text = match line {
        Line::Whole(text) => text,
        Line::TooLong(_) => {
            return Err(Misunderstood {
                id: None,
                help: "a line longer than a mebibyte is not a request".into(),
            });
        }
    };
    serde_json::from_str(&text).map_err(|error| {
        let value: Option<serde_json::Value> = serde_json::from_str(&text).ok();
        Misunderstood {
            id: value.and_then(|value| value.get("id")?.as_u64()),
            help: format!("not a request ({error}): {text}"),
        }
    })
}

/// A grant that was not yet released.
struct Held {
    grant: Grant,
    /// When the acquire request of this grant was read.
    read_at: Duration,
}

struct Worker<B> {
    clock: Clock,
    build: Option<B>,
    lock: Option<Box<dyn DynLock>>,
    grants: BTreeMap<String, Held>,
}

impl<B, F> Worker<B>
where
    B: FnOnce(Init) -> F,
    F: Future<Output = Result<Box<dyn DynLock>, String>>,
{
    fn new(build: B) -> Self {
        Worker {
            clock: Clock::start(),
            build: Some(build),
            lock: None,
            grants: BTreeMap::new(),
        }
    }

    /// A notice comes first, so that a busy driver does not delay the news of a lost lease.
    async fn next<R>(
        &mut self,
        request: impl Future<Output = std::io::Result<Option<R>>>,
    ) -> std::io::Result<Incoming<R>> {
        let request = match &mut self.lock {
            None => request.await?,
            Some(lock) => tokio::select! {
                biased;
                notice = lock.notice() => return Ok(Incoming::Notice(notice)),
                request = request => request?,
            },
        };
        Ok(request.map_or(Incoming::End, Incoming::Request))
    }

    /// What a notice tells the driver. The remaining lease is computed last, immediately before it is
    /// written.
    fn event(&self, notice: Notice) -> WorkerMessage {
        WorkerMessage::Event(match notice {
            Notice::Extended { token, valid_until } => Notification::Extended {
                elapsed_ms: self.grants.get(&token).map(|held| self.since(held.read_at)),
                token,
                valid_ms: millis(valid_until.left()),
            },
            Notice::Lost { token } => Notification::Lost { token },
        })
    }

    async fn reply(&mut self, request: Request, read_at: Duration) -> WorkerMessage {
        let Request { id, ask } = request;
        let answer = match ask {
            RequestKind::Ping => Answer::Pong,
            RequestKind::Init(init) => self.init(init).await,
            RequestKind::Acquire {
                key,
                ttl_ms,
                wait_ms,
            } => self.acquire(read_at, &key, ttl_ms, wait_ms).await,
            RequestKind::Extend { key, token, ttl_ms } => {
                self.extend(read_at, &key, &token, ttl_ms).await
            }
            RequestKind::Release { key, token } => self.release(&key, &token).await,
        };
        WorkerMessage::Reply { id, answer }
    }

    async fn init(&mut self, init: Init) -> Answer {
        let protocol = init.protocol;
        if protocol != PROTOCOL {
            return wrong(format!(
                "protocol {protocol} is not supported, only {PROTOCOL}"
            ));
        }
        let Some(build) = self.build.take() else {
            return wrong("`init` came a second time");
        };
        match build(init).await {
            Ok(lock) => {
                self.lock = Some(lock);
                Answer::Ready {
                    name: None,
                    version: None,
                    extends: None,
                }
            }
            Err(reason) => wrong(reason),
        }
    }

    async fn acquire(&mut self, read_at: Duration, key: &str, ttl_ms: u64, wait_ms: u64) -> Answer {
        let Some(lock) = &mut self.lock else {
            return wrong(NO_LOCK);
        };
        let ttl = Duration::from_millis(ttl_ms);
        let wait = Duration::from_millis(wait_ms);
        match lock.acquire(key, ttl, wait).await {
            Ok(Some(grant)) => self.granted(grant, read_at, read_at),
            Ok(None) => Answer::Refused,
            Err(error) => failed(&error),
        }
    }

    async fn extend(&mut self, read_at: Duration, key: &str, token: &str, ttl_ms: u64) -> Answer {
        let Some(lock) = &mut self.lock else {
            return wrong(NO_LOCK);
        };
        let Some(held) = self.grants.get(token) else {
            return unknown(token);
        };
        let ttl = Duration::from_millis(ttl_ms);
        match lock.extend(key, &held.grant, ttl).await {
            Ok(Some(grant)) => {
                let acquired_at = held.read_at;
                self.grants.remove(token);
                self.granted(grant, read_at, acquired_at)
            }
            Ok(None) => Answer::Refused,
            Err(LockError::Unsupported(message)) => {
                let message = Some(message);
                Answer::Unsupported { message }
            }
            Err(error) => failed(&error),
        }
    }

    async fn release(&mut self, key: &str, token: &str) -> Answer {
        let Some(lock) = &mut self.lock else {
            return wrong(NO_LOCK);
        };
        let Some(held) = self.grants.get(token) else {
            return unknown(token);
        };
        match lock.release(key, &held.grant).await {
            Ok(released) => {
                self.grants.remove(token);
                let released = Some(released);
                Answer::Released { released }
            }
            // The grant is kept: without its token the release could not be repeated (bug class
            // L3).
            Err(error) => failed(&error),
        }
    }

    /// How long ago this was, milliseconds, rounded down.
    fn since(&self, then: Duration) -> u64 {
        millis(self.clock.elapsed().saturating_sub(then))
    }

    /// Keeps the grant. The remaining lease is computed last, immediately before it is written.
    fn granted(&mut self, grant: Grant, read_at: Duration, acquired_at: Duration) -> Answer {
        let held = Held {
            grant: grant.clone(),
            read_at: acquired_at,
        };
        self.grants.insert(grant.token.clone(), held);
        Answer::Granted {
            token: grant.token,
            fence: grant.fence,
            valid_ms: grant.valid_until.map(|deadline| millis(deadline.left())),
            elapsed_ms: Some(self.since(read_at)),
        }
    }
}

const NO_LOCK: &str = "there is no lock yet: `init` must come first, and be answered by `ready`";

fn unknown(token: &str) -> Answer {
    wrong(format!("no grant has the token `{token}`"))
}

/// The request was not valid, so nothing was done.
fn wrong(message: impl Into<String>) -> Answer {
    Answer::Error {
        message: message.into(),
        definite: true,
    }
}

fn failed(error: &LockError) -> Answer {
    Answer::Error {
        message: error.to_string(),
        definite: error.is_definite(),
    }
}

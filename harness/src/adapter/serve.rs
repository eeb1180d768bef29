//! The worker's end of the protocol, for locks whose code is in this binary.
//!
//! The code uses no process and no global state. It works on any pair of streams, in its own process or in a
//! simulation.

use std::pin::Pin;

use futures_util::future::{Fuse, FusedFuture};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use picklock_impls::{Canceller, DynLock};
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt};

use super::line_reader::{Line, LineReader};
use super::local_channel::{Receiver, local_channel};
use super::message::{Init, Request, RequestKind, WorkerMessage};
use super::served_clients::{Clients, Dispatched, Requests, with_client};
use super::served_lock::{Incoming, ServedLock};
use super::termination::Termination;

/// The reason why a worker cannot continue. It can only be reported in the worker's log.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Requests cannot be read.
    #[error("cannot read requests: {0}")]
    Read(#[source] std::io::Error),
    /// Replies cannot be written, because the driver is gone.
    #[error("cannot write a reply: {0}")]
    Write(#[source] std::io::Error),
    /// The process received SIGTERM, and its clients have cleaned up.
    #[error("ended by SIGTERM")]
    Terminated,
}

/// Answers requests until the input ends.
///
/// `build` creates the lock when `init` arrives, and one for each client that joins. `log` receives messages about
/// requests that cannot be answered because they have no `id`. Locks with background tasks need a
/// `tokio::task::LocalSet` around the call. When `terminated` completes, all clients clean up, and their requests stay
/// unanswered.
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
    let (outbox, messages) = local_channel();
    let start_client = |client, requests, termination| {
        let outbox = outbox.clone();
        let send = move |message| outbox.send(with_client(client, message)).is_ok();
        answer_messages(requests, &build, termination, send)
    };
    // A client that has the process to itself has no number.
    let (unshared, requests) = local_channel();
    let mut server = Server {
        lines: LineReader::new(reader),
        messages,
        clients: Some(Clients::new(unshared)),
        serving: FuturesUnordered::new(),
        start_client,
        terminations: Vec::new(),
        terminated: std::pin::pin!(terminated.fuse()),
    };
    server.start(None, requests);
    while let Some(message) = server.next_message(&mut log).await? {
        write_message(&mut writer, &message).await?;
    }
    if server.terminated.is_terminated() {
        return Err(ServeError::Terminated);
    }
    Ok(())
}

async fn write_message(
    writer: &mut (impl AsyncWrite + Unpin),
    message: &WorkerMessage,
) -> Result<(), ServeError> {
    let mut text = serde_json::to_string(message)
        .map_err(|error| ServeError::Write(std::io::Error::other(error)))?;
    text.push('\n');
    let written = async {
        writer.write_all(text.as_bytes()).await?;
        writer.flush().await
    };
    written.await.map_err(ServeError::Write)
}

/// The state of [`serve`]: the input, the clients, and the messages that they have yet to write.
struct Server<'t, R, T, S, C> {
    lines: LineReader<R>,
    messages: Receiver<WorkerMessage>,
    /// The recipients of the requests, or `None` once no more requests are read.
    clients: Option<Clients>,
    /// The clients that have not ended.
    serving: FuturesUnordered<C>,
    /// Creates the future that serves a client.
    start_client: S,
    /// One entry for each client that was ever started.
    terminations: Vec<Termination>,
    terminated: Pin<&'t mut Fuse<T>>,
}

impl<R, T, S, C> Server<'_, R, T, S, C>
where
    R: AsyncBufRead + Unpin,
    T: Future<Output = ()>,
    S: Fn(Option<usize>, Receiver<Request>, Termination) -> C,
    C: Future<Output = ()>,
{
    fn start(&mut self, client: Option<usize>, requests: Receiver<Request>) {
        let termination = Termination::default();
        self.terminations.push(termination.clone());
        let served = (self.start_client)(client, requests, termination);
        self.serving.push(served);
    }

    /// Returns the next message to write, or `None` when no more requests are read and all clients have ended. A
    /// process whose clients have all ended lives as long as its input.
    async fn next_message(
        &mut self,
        log: &mut impl FnMut(&str),
    ) -> Result<Option<WorkerMessage>, ServeError> {
        loop {
            let is_reading = self.clients.is_some();
            tokio::select! {
                biased;
                message = self.messages.next() => return Ok(message),
                () = &mut self.terminated => self.terminate_clients(),
                line = self.lines.next(), if is_reading => {
                    let line = line.map_err(ServeError::Read)?;
                    if let Some(answer) = self.handle_line(line, log) {
                        return Ok(Some(answer));
                    }
                }
                ended = self.serving.next(), if !is_reading || !self.serving.is_empty() => {
                    if ended.is_none() {
                        return Ok(self.messages.take());
                    }
                }
            }
        }
    }

    /// Stops reading requests, and lets all clients clean up.
    fn terminate_clients(&mut self) {
        self.clients = None;
        self.terminations.iter().for_each(Termination::request);
    }

    /// Handles a line of the input, or the end of the input if `line` is `None`. Returns the reply if no client has to
    /// give it. Requests that were read before the end are still answered.
    fn handle_line(
        &mut self,
        line: Option<Line>,
        log: &mut impl FnMut(&str),
    ) -> Option<WorkerMessage> {
        let (Some(line), Some(clients)) = (line, &mut self.clients) else {
            self.clients = None;
            return None;
        };
        match clients.dispatch(line) {
            Ok(Dispatched::Passed) => {}
            Ok(Dispatched::Joined { client, requests }) => self.start(Some(client), requests),
            Ok(Dispatched::Answered(message)) => return Some(message),
            Err(help) => log(&help),
        }
        None
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
    let mut lock = ServedLock::new(build);
    let is_terminated = tokio::select! {
        biased;
        // The request in progress is abandoned, and its command may still be executed.
        () = termination.requested() => true,
        () = answer_all(&mut lock, requests, send) => false,
    };
    if is_terminated {
        lock.terminate().await;
    }
    termination.finish();
}

async fn answer_all<B, F>(
    lock: &mut ServedLock<B>,
    requests: Receiver<Request>,
    mut send: impl FnMut(WorkerMessage) -> bool,
) where
    B: FnOnce(Init, Canceller) -> F,
    F: Future<Output = Result<Box<dyn DynLock>, String>>,
{
    let mut requests = Requests::new(requests);
    loop {
        let mut ends = false;
        let message = match lock.next(requests.next()).await {
            Incoming::Request(request) => {
                let read_at = lock.clock.elapsed();
                let canceller = lock.canceller.clone();
                canceller.reset();
                ends = matches!(request.ask, RequestKind::EndClient);
                let acquire = match request.ask {
                    RequestKind::Acquire { .. } => Some(request.id),
                    RequestKind::Cancel { .. } => continue,
                    _ => None,
                };
                tokio::select! {
                    biased;
                    reply = lock.reply(request, read_at) => reply,
                    never = requests.watch_for_cancel(acquire, &canceller) => match never {},
                }
            }
            Incoming::Notice(notice) => lock.event(notice),
            Incoming::End => return,
        };
        // After the end of its client, the lock's background tasks continue, because they belong to the process.
        if !send(message) || ends {
            return;
        }
    }
}

//! Dispatches the requests of a process to the clients that it serves.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

use picklock_impls::{Canceller, LockError};
use picklock_scenarios::TaskScope;

use super::line_reader::Line;
use super::local_channel::{Receiver, Sender, local_channel};
use super::message::{Answer, Init, Join, Notification, Request, RequestKind, WorkerMessage};
use crate::clock;

/// Adds the client's number to a message, if the client shares the process.
pub(super) fn with_client(number: Option<usize>, mut message: WorkerMessage) -> WorkerMessage {
    if number.is_none() {
        return message;
    }
    match &mut message {
        WorkerMessage::Reply { client, answer, .. } => {
            *client = number;
            if matches!(answer, Answer::Ready { .. }) {
                *answer = Answer::Joined;
            }
        }
        WorkerMessage::Event(
            Notification::Extended { client, .. } | Notification::Lost { client, .. },
        ) => *client = number,
    }
    message
}

/// The clients of a process, by the number in their requests, which is `None` for a client that has the process to
/// itself.
pub(super) struct Clients {
    requests: BTreeMap<Option<usize>, Sender<Request>>,
    init: Option<Init>,
}

/// The result of dispatching a line.
pub(super) enum Dispatched {
    /// The request was passed to the client that answers it.
    Passed,
    /// The request was a `join`: the new client `client` answers it, and reads its further requests from `requests`.
    Joined {
        client: usize,
        requests: Receiver<Request>,
    },
    /// The request was answered with this reply.
    Answered(WorkerMessage),
}

impl Clients {
    pub(super) fn new(unshared: Sender<Request>) -> Self {
        Clients {
            requests: BTreeMap::from([(None, unshared)]),
            init: None,
        }
    }

    /// Dispatches the request in a line.
    ///
    /// # Errors
    /// Returns a message for the log if the line has no `id`, so that it cannot be answered.
    pub(super) fn dispatch(&mut self, line: Line) -> Result<Dispatched, String> {
        let request = match parse_request(line) {
            Ok(request) => request,
            Err((Some(id), help)) => return Ok(answered(id, None, invalid(help))),
            Err((None, help)) => return Err(help),
        };
        let Request { id, client, ask } = request;
        match ask {
            RequestKind::Join(join) => Ok(self.join(id, client, join)),
            RequestKind::Block {
                for_ms,
                scope: TaskScope::Loop,
            } => {
                clock::block_thread(Duration::from_millis(for_ms));
                Ok(answered(id, client, Answer::Blocked))
            }
            ask => {
                if let RequestKind::Init(init) = &ask {
                    self.init.get_or_insert_with(|| init.clone());
                }
                Ok(self.pass(Request { id, client, ask }))
            }
        }
    }

    fn pass(&self, request: Request) -> Dispatched {
        let (id, client) = (request.id, request.client);
        let passed = self
            .requests
            .get(&client)
            .is_some_and(|requests| requests.send(request).is_ok());
        if passed {
            Dispatched::Passed
        } else {
            answered(id, client, invalid("no such client has joined"))
        }
    }

    /// Starts a client. The client itself receives its `join` as an `init`.
    fn join(&mut self, id: u64, client: Option<usize>, join: Join) -> Dispatched {
        let (Some(number), Some(init)) = (client, &self.init) else {
            let answer = invalid("`join` needs a `client`, and `init` before it");
            return answered(id, client, answer);
        };
        if self.requests.contains_key(&client) {
            return answered(
                id,
                client,
                invalid("received a second `join` for this client"),
            );
        }
        let init = Init {
            worker: number,
            nodes: join.nodes,
            seed: join.seed,
            ..init.clone()
        };
        let (sender, requests) = local_channel();
        self.requests.insert(client, sender);
        let ask = RequestKind::Init(init);
        self.pass(Request { id, client, ask });
        Dispatched::Joined {
            client: number,
            requests,
        }
    }
}

fn answered(id: u64, client: Option<usize>, answer: Answer) -> Dispatched {
    Dispatched::Answered(WorkerMessage::Reply { id, client, answer })
}

/// The requests to a client. While the client acquires, its requests are read ahead, because one of them may cancel the
/// `acquire`.
pub(super) struct Requests {
    incoming: Receiver<Request>,
    waiting: VecDeque<Request>,
}

impl Requests {
    pub(super) fn new(incoming: Receiver<Request>) -> Self {
        let waiting = VecDeque::new();
        Requests { incoming, waiting }
    }

    pub(super) async fn next(&mut self) -> Option<Request> {
        match self.waiting.pop_front() {
            Some(request) => Some(request),
            None => self.incoming.next().await,
        }
    }

    /// Reads further requests while the client works on a request. Triggers the canceller if one of them cancels the
    /// `acquire` request with the number `acquire`; all other requests wait. Never returns. Cancel-safe.
    pub(super) async fn watch_for_cancel(
        &mut self,
        acquire: Option<u64>,
        canceller: &Canceller,
    ) -> Infallible {
        if let Some(id) = acquire {
            while let Some(request) = self.incoming.next().await {
                match request.ask {
                    RequestKind::Cancel { of } if of == id => canceller.cancel(),
                    _ => self.waiting.push_back(request),
                }
            }
        }
        std::future::pending().await
    }
}

/// Parses the request in a line. If the request is invalid, returns its `id`, or `None` if it has none, and a
/// description of the error.
fn parse_request(line: Line) -> Result<Request, (Option<u64>, String)> {
    let Line::Whole(text) = line else {
        let help = "a line longer than a mebibyte is not a request";
        return Err((None, help.into()));
    };
    serde_json::from_str(&text).map_err(|error| {
        let value: Option<serde_json::Value> = serde_json::from_str(&text).ok();
        let id = value.and_then(|value| value.get("id")?.as_u64());
        (id, format!("not a request ({error}): {text}"))
    })
}

/// Returns the reply to a request whose token does not belong to a grant.
pub(super) fn unknown_token(token: &str) -> Answer {
    invalid(format!("no grant has the token `{token}`"))
}

/// Returns the reply to a request for which the lock returned an error.
pub(super) fn failed(error: &LockError) -> Answer {
    Answer::Error {
        message: error.to_string(),
        definite: error.is_definite(),
    }
}

/// Returns the reply to an invalid request, which had no effect.
pub(super) fn invalid(message: impl Into<String>) -> Answer {
    Answer::Error {
        message: message.into(),
        definite: true,
    }
}

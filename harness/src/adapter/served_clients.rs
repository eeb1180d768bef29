//! The clients that a process serves: which of them a line is for, and what each was asked.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

use picklock_impls::Canceller;
use picklock_scenarios::TaskScope;

use super::line_reader::Line;
use super::local_channel::{Receiver, Sender, local_channel};
use super::message::{Answer, Init, Join, Notification, Request, RequestKind, WorkerMessage};
use crate::clock;

/// What a client says, with its number, where it shares the process.
pub(super) fn of_client(number: Option<usize>, mut message: WorkerMessage) -> WorkerMessage {
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

/// The clients of a process, by the number that requests name; `None`: the one that is alone.
pub(super) struct Clients {
    requests: BTreeMap<Option<usize>, Sender<Request>>,
    init: Option<Init>,
}

pub(super) enum Taken {
    /// A client answers it.
    Asked,
    /// A client has joined, and answers it.
    Joined {
        client: usize,
        requests: Receiver<Request>,
    },
    /// This is the answer.
    Answered(WorkerMessage),
}

impl Clients {
    pub(super) fn new(alone: Sender<Request>) -> Self {
        Clients {
            requests: BTreeMap::from([(None, alone)]),
            init: None,
        }
    }

    /// # Errors
    /// The line has no id, so that it cannot be answered.
    pub(super) fn take(&mut self, line: Line) -> Result<Taken, String> {
        let request = match understand(line) {
            Ok(request) => request,
            Err((Some(id), help)) => return Ok(answered(id, None, wrong(help))),
            Err((None, help)) => return Err(help),
        };
        let Request { id, client, ask } = request;
        match ask {
            RequestKind::Join(join) => Ok(self.joined(id, client, join)),
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

    fn pass(&self, request: Request) -> Taken {
        let (id, client) = (request.id, request.client);
        let requests = self.requests.get(&client);
        match requests.is_some_and(|requests| requests.send(request).is_ok()) {
            true => Taken::Asked,
            false => answered(id, client, wrong("no such client has joined")),
        }
    }

    /// To the client that joins it is its `init`.
    fn joined(&mut self, id: u64, client: Option<usize>, join: Join) -> Taken {
        let (Some(number), Some(init)) = (client, &self.init) else {
            let answer = wrong("`join` needs a `client`, and `init` before it");
            return answered(id, client, answer);
        };
        if self.requests.contains_key(&client) {
            return answered(id, client, wrong("`join` came a second time"));
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
        Taken::Joined {
            client: number,
            requests,
        }
    }
}

fn answered(id: u64, client: Option<usize>, answer: Answer) -> Taken {
    Taken::Answered(WorkerMessage::Reply { id, client, answer })
}

/// The requests to a client. While it acquires they are looked at, because one may tell it to give up.
pub(super) struct Requests {
    coming: Receiver<Request>,
    waiting: VecDeque<Request>,
}

impl Requests {
    pub(super) fn new(coming: Receiver<Request>) -> Self {
        let waiting = VecDeque::new();
        Requests { coming, waiting }
    }

    pub(super) async fn next(&mut self) -> Option<Request> {
        match self.waiting.pop_front() {
            Some(request) => Some(request),
            None => self.coming.next().await,
        }
    }

    /// Passes on that the client gives up the request `cancelled`. Everything else waits. Cancel-safe.
    pub(super) async fn watch(
        &mut self,
        cancelled: Option<u64>,
        canceller: &Canceller,
    ) -> Infallible {
        if let Some(id) = cancelled {
            while let Some(request) = self.coming.next().await {
                match request.ask {
                    RequestKind::Cancel { of } if of == id => canceller.cancel(),
                    _ => self.waiting.push_back(request),
                }
            }
        }
        std::future::pending().await
    }
}

/// The request in a line. If it is none: its id, as far as it has one, and what is wrong.
fn understand(line: Line) -> Result<Request, (Option<u64>, String)> {
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

/// The request was not valid, so nothing was done.
pub(super) fn wrong(message: impl Into<String>) -> Answer {
    Answer::Error {
        message: message.into(),
        definite: true,
    }
}

//! The driver's end of a worker process that several clients share. The requests of all clients are written to the
//! process's standard input, each with a unique number, and each reply is passed to the client that sent the request.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use picklock_scenarios::TaskScope;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::local_channel::{Closed, Receiver, Sender, local_channel};
use super::message::{
    Answer, Init, Join, Notification, Offers, Request, RequestKind, WorkerMessage,
};
use super::process::{WorkerOutput, WorkerStdin, WorkerStdout};
use super::protocol_fault::{MAX_LINE_CHARS, MalformedLine, ProtocolFault, truncate};
use crate::clock::Clock;

/// A worker process that several clients share.
pub struct SharedProcess {
    lines: Rc<RefCell<Lines>>,
    tasks: [JoinHandle<()>; 2],
}

impl Drop for SharedProcess {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// One client's connection to a shared process.
pub struct ClientLine {
    process: Rc<SharedProcess>,
    client: usize,
    outputs: Receiver<WorkerOutput>,
}

/// Receives the time on the run's clock at which a task was unblocked, or the adapter's error.
pub type Unblocked = oneshot::Receiver<Result<u64, String>>;

/// A request that has not been answered.
struct PendingRequest {
    client: usize,
    purpose: Purpose,
}

/// The purpose of a request to the process.
enum Purpose {
    /// `init`. The clients that are waiting for its reply are in [`Startup::Pending`].
    Init,
    /// `join`, with the number of the client's `init`.
    Join(u64),
    /// A request of the client itself, with the number that the client gave it.
    Own(u64),
    /// `block`.
    Block(oneshot::Sender<Result<u64, String>>),
}

/// The state of the process's initialization.
enum Startup {
    NotStarted,
    /// `init` was sent. These clients are waiting for its reply, each with the number of its own `init`.
    Pending(Vec<(usize, u64, Join)>),
    Ready(Answer),
}

struct Lines {
    /// Whether the process has more than one client. If so, requests must carry the number of the client.
    is_shared: bool,
    /// The URLs that the process receives with `init`.
    nodes: Vec<String>,
    clock: Clock,
    to_send: Sender<Request>,
    outputs: BTreeMap<usize, Sender<WorkerOutput>>,
    /// All clients that have ever been connected.
    known: BTreeSet<usize>,
    pending: HashMap<u64, PendingRequest>,
    last_id: u64,
    startup: Startup,
    /// The last output of the process, or `None` if it has not ended.
    ended: Option<WorkerOutput>,
}

impl SharedProcess {
    /// Starts to forward the messages of this process. `nodes` are the addresses that the process receives with `init`.
    /// Must be called inside a `LocalSet`.
    pub fn begin(
        mut stdin: WorkerStdin,
        mut stdout: WorkerStdout,
        is_shared: bool,
        nodes: Vec<String>,
        clock: Clock,
    ) -> Rc<Self> {
        let (to_send, mut requests) = local_channel();
        let lines = Rc::new(RefCell::new(Lines::new(is_shared, nodes, clock, to_send)));
        let writing = async move {
            while let Some(request) = requests.next().await {
                // If the process no longer reads, the other task receives the description of its end.
                if stdin.send(&request).await.is_err() {
                    return;
                }
            }
        };
        let reading = {
            let lines = Rc::clone(&lines);
            async move {
                // After the last output, which is stored in `ended`, `next` would return the same output forever
                // without waiting.
                while lines.borrow().ended.is_none() {
                    let output = stdout.next().await;
                    lines.borrow_mut().handle_output(output);
                }
            }
        };
        Rc::new(SharedProcess {
            lines,
            tasks: [
                tokio::task::spawn_local(writing),
                tokio::task::spawn_local(reading),
            ],
        })
    }

    /// Returns `true` if this client can start in this process: the process is running, and the client has not been
    /// connected to it before.
    pub fn accepts(&self, client: usize) -> bool {
        let lines = self.lines.borrow();
        lines.ended.is_none() && !lines.known.contains(&client)
    }

    /// Connects a client to the process.
    pub fn connect(self: &Rc<Self>, client: usize) -> ClientLine {
        let (sender, outputs) = local_channel();
        let mut lines = self.lines.borrow_mut();
        lines.known.insert(client);
        lines.outputs.insert(client, sender);
        drop(lines);
        ClientLine {
            process: Rc::clone(self),
            client,
            outputs,
        }
    }

    /// Returns `true` if all clients use the same connections, so that a connection does not identify the client.
    pub fn shares_connections(&self) -> bool {
        let lines = self.lines.borrow();
        lines.is_shared && lines.offers().own_connections != Some(true)
    }

    /// Requests that the adapter blocks its event loop or the client's thread for `for_ms` milliseconds.
    pub fn block(&self, client: usize, scope: TaskScope, for_ms: u64) -> Unblocked {
        let (sender, unblocked) = oneshot::channel();
        let ask = RequestKind::Block { for_ms, scope };
        // If the process has ended, the sender is dropped.
        let purpose = Purpose::Block(sender);
        let mut lines = self.lines.borrow_mut();
        lines.send(client, purpose, ask).unwrap_or_default();
        unblocked
    }
}

impl ClientLine {
    /// Sends a request.
    ///
    /// # Errors
    /// Returns an error if the process has ended.
    pub fn send(&self, request: Request) -> Result<(), Closed> {
        let Request { id, ask, .. } = request;
        self.process
            .lines
            .borrow_mut()
            .request(self.client, id, ask)
    }

    /// Waits for the client's next message, or for the end of its process. Cancel-safe.
    pub async fn next(&mut self) -> WorkerOutput {
        let closed = || WorkerOutput::Exited("the line is closed".into());
        self.outputs.next().await.unwrap_or_else(closed)
    }

    /// Discards all past and future messages of the client. The process continues to run for the other clients.
    pub fn stop_listening(&mut self) {
        self.process.lines.borrow_mut().outputs.remove(&self.client);
        (_, self.outputs) = local_channel();
    }
}

impl Drop for ClientLine {
    fn drop(&mut self) {
        self.process.lines.borrow_mut().outputs.remove(&self.client);
    }
}

impl Lines {
    fn new(is_shared: bool, nodes: Vec<String>, clock: Clock, to_send: Sender<Request>) -> Self {
        Lines {
            is_shared,
            nodes,
            clock,
            to_send,
            outputs: BTreeMap::new(),
            known: BTreeSet::new(),
            pending: HashMap::new(),
            last_id: 0,
            startup: Startup::NotStarted,
            ended: None,
        }
    }

    fn offers(&self) -> Offers {
        match &self.startup {
            Startup::Ready(Answer::Ready { offers, .. }) => offers.clone(),
            _ => Offers::default(),
        }
    }

    /// Sends a client's request. The first `init` initializes the process; the `init` of a further client becomes a
    /// `join`.
    fn request(&mut self, client: usize, id: u64, ask: RequestKind) -> Result<(), Closed> {
        let init = match ask {
            RequestKind::Init(init) => init,
            RequestKind::Cancel { of } => return self.cancel(client, of),
            ask => return self.send(client, Purpose::Own(id), ask),
        };
        let (nodes, seed) = (init.nodes.clone(), init.seed);
        let join = Join { nodes, seed };
        match &mut self.startup {
            Startup::Pending(waiting) => {
                waiting.push((client, id, join));
                Ok(())
            }
            Startup::Ready(ready) => {
                let ready = ready.clone();
                self.join(client, id, join, &ready)
            }
            Startup::NotStarted => {
                self.startup = Startup::Pending(vec![(client, id, join)]);
                let nodes = self.nodes.clone();
                let init = RequestKind::Init(Init { nodes, ..init });
                self.send(client, Purpose::Init, init)
            }
        }
    }

    /// Lets a client join the process, which is ready. If the process has only this client, or supports only one
    /// client, passes the reply to `init` to the client instead.
    fn join(&mut self, client: usize, id: u64, join: Join, ready: &Answer) -> Result<(), Closed> {
        if self.is_shared && self.offers().clients == Some(true) {
            return self.send(client, Purpose::Join(id), RequestKind::Join(join));
        }
        self.reply(client, id, ready.clone());
        Ok(())
    }

    /// Cancels the client's request with this number. `cancel` has no reply of its own.
    fn cancel(&mut self, client: usize, own: u64) -> Result<(), Closed> {
        let is_requested = |request: &PendingRequest| {
            request.client == client && matches!(request.purpose, Purpose::Own(id) if id == own)
        };
        let cancelled = self
            .pending
            .iter()
            .find(|(_, request)| is_requested(request));
        let Some((&of, _)) = cancelled else {
            // The request has already been answered.
            return Ok(());
        };
        self.last_id += 1;
        let (id, ask) = (self.last_id, RequestKind::Cancel { of });
        let client = self.is_shared.then_some(client);
        self.to_send.send(Request { id, client, ask })
    }

    fn send(&mut self, client: usize, purpose: Purpose, ask: RequestKind) -> Result<(), Closed> {
        if self.ended.is_some() {
            return Err(Closed);
        }
        self.last_id += 1;
        let id = self.last_id;
        let named = self.is_shared && !matches!(purpose, Purpose::Init);
        self.pending.insert(id, PendingRequest { client, purpose });
        let client = named.then_some(client);
        self.to_send.send(Request { id, client, ask })
    }

    fn reply(&self, client: usize, id: u64, answer: Answer) {
        let reply = WorkerMessage::reply(id, answer);
        self.deliver(client, WorkerOutput::Message(reply));
    }

    /// Passes an output to a client, unless the client has left or was killed.
    fn deliver(&self, client: usize, output: WorkerOutput) {
        if let Some(outputs) = self.outputs.get(&client) {
            outputs.send(output).unwrap_or_default();
        }
    }

    fn handle_output(&mut self, output: WorkerOutput) {
        match output {
            WorkerOutput::Message(WorkerMessage::Reply { id, client, answer }) => {
                self.handle_reply(id, client, answer);
            }
            WorkerOutput::Message(WorkerMessage::Event(event)) => self.handle_event(event),
            WorkerOutput::Garbage(line) => self.report_fault(line),
            WorkerOutput::Exited(_) => {
                for client in self.outputs.keys() {
                    self.deliver(*client, output.clone());
                }
                self.pending.clear();
                self.ended = Some(output);
            }
        }
    }

    fn handle_reply(&mut self, id: u64, named: Option<usize>, answer: Answer) {
        let Some(request) = self.pending.remove(&id) else {
            let fault = if id <= self.last_id {
                ProtocolFault::SecondAnswer { id }
            } else {
                ProtocolFault::wrong_id(self.last_id, id)
            };
            return self.report_faulty_reply(fault, id, answer);
        };
        let client = request.client;
        if let Some(found) = named.filter(|named| *named != client) {
            let fault = ProtocolFault::WrongClient {
                message: answer.reply(),
                found,
                expected: Some(client),
            };
            return self.report_faulty_reply(fault, id, answer);
        }
        match (request.purpose, answer) {
            (Purpose::Join(own), Answer::Joined) => {
                if let Startup::Ready(ready) = &self.startup {
                    self.reply(client, own, ready.clone());
                }
            }
            // If a reply does not fit the client's `init`, the driver diagnoses that.
            (Purpose::Own(own) | Purpose::Join(own), answer) => self.reply(client, own, answer),
            (Purpose::Init, answer) => self.handle_init_reply(answer),
            (Purpose::Block(waits), Answer::Blocked) => {
                waits.send(Ok(self.clock.now_ns())).unwrap_or_default();
            }
            (Purpose::Block(waits), Answer::Error { message, .. }) => {
                waits.send(Err(message)).unwrap_or_default();
            }
            (Purpose::Block(_), answer) => {
                let fault = ProtocolFault::wrong_answer("block", answer.reply());
                self.report_faulty_reply(fault, id, answer);
            }
        }
    }

    /// Passes the reply to `init` to all clients that wait for it.
    fn handle_init_reply(&mut self, answer: Answer) {
        let Startup::Pending(waiting) = std::mem::replace(&mut self.startup, Startup::NotStarted)
        else {
            return;
        };
        let is_ready = matches!(answer, Answer::Ready { .. });
        if is_ready {
            self.startup = Startup::Ready(answer.clone());
        }
        for (client, id, join) in waiting {
            if is_ready {
                // If this fails, the process has ended, and all clients receive the description of its end.
                self.join(client, id, join, &answer).unwrap_or_default();
            } else {
                self.reply(client, id, answer.clone());
            }
        }
    }

    fn handle_event(&mut self, event: Notification) {
        let client = match (event.client(), self.is_shared) {
            (Some(client), true) => client,
            (_, false) => match self.known.first() {
                Some(only_client) => *only_client,
                None => return,
            },
            (None, true) => {
                let (message, field) = (event.event(), "client");
                let fault = ProtocolFault::MissingField { message, field };
                return self.report_fault(malformed(fault, &event));
            }
        };
        if !self.known.contains(&client) {
            let fault = ProtocolFault::WrongClient {
                message: event.event(),
                found: client,
                expected: None,
            };
            return self.report_fault(malformed(fault, &event));
        }
        self.deliver(client, WorkerOutput::Message(WorkerMessage::Event(event)));
    }

    fn report_faulty_reply(&self, fault: ProtocolFault, id: u64, answer: Answer) {
        self.report_fault(malformed(fault, &WorkerMessage::reply(id, answer)));
    }

    /// Passes a violation of the protocol to one client. This ends the process with all clients.
    fn report_fault(&self, line: MalformedLine) {
        if let Some(client) = self.outputs.keys().next() {
            self.deliver(*client, WorkerOutput::Garbage(line));
        }
    }
}

fn malformed(fault: ProtocolFault, message: &impl serde::Serialize) -> MalformedLine {
    let text = serde_json::to_string(message).unwrap_or_default();
    let line = truncate(&text, MAX_LINE_CHARS);
    MalformedLine { fault, line }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a process with two clients that neither reads nor writes.
    fn process() -> Rc<SharedProcess> {
        let (to_send, _) = local_channel();
        let lines = Lines::new(true, Vec::new(), Clock::start(), to_send);
        let idle = || tokio::task::spawn_local(std::future::pending::<()>());
        Rc::new(SharedProcess {
            lines: Rc::new(RefCell::new(lines)),
            tasks: [idle(), idle()],
        })
    }

    #[tokio::test]
    async fn client_that_stopped_listening_receives_nothing() {
        let tasks = tokio::task::LocalSet::new();
        let test = async {
            let process = process();
            let (mut flooding, mut other) = (process.connect(0), process.connect(1));
            let event = WorkerOutput::Message(WorkerMessage::Event(Notification::Lost {
                token: "a".into(),
                client: Some(0),
            }));
            process.lines.borrow_mut().handle_output(event.clone());
            flooding.stop_listening();
            assert_eq!(process.lines.borrow().outputs.len(), 1);
            process.lines.borrow_mut().handle_output(event);
            let closed = WorkerOutput::Exited("the line is closed".into());
            assert_eq!(flooding.next().await, closed);
            let ended = WorkerOutput::Exited("killed".into());
            process.lines.borrow_mut().handle_output(ended.clone());
            assert_eq!(other.next().await, ended);
        };
        tasks.run_until(test).await;
    }
}

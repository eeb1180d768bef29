//! The driver's end of a worker process that several clients share: their requests go out on its one line, each with a
//! number that no other has, and each answer goes to the client that had asked.

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
use super::protocol_fault::{LINE_KEPT, MalformedLine, ProtocolFault, cut};
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

/// One client's part of the line.
pub struct ClientLine {
    process: Rc<SharedProcess>,
    client: usize,
    heard: Receiver<WorkerOutput>,
}

/// When a task had been blocked for as long as was asked, by the run's clock, or what the adapter said instead.
pub type Unblocked = oneshot::Receiver<Result<u64, String>>;

struct Open {
    client: usize,
    asked: Asked,
}

enum Asked {
    /// `init`. Everybody who waits for it is in [`Begun::Asked`].
    Init,
    /// `join`, with the number of the client's `init`.
    Join(u64),
    /// The client's own request, with the client's own number.
    Own(u64),
    /// `block`.
    Block(oneshot::Sender<Result<u64, String>>),
}

enum Begun {
    Not,
    /// These clients wait, each with the number of its `init`.
    Asked(Vec<(usize, u64, Join)>),
    Ready(Answer),
}

struct Lines {
    /// More than one client lives here, so requests say whose they are.
    is_shared: bool,
    /// The URLs that the process gets with `init`.
    nodes: Vec<String>,
    clock: Clock,
    to_send: Sender<Request>,
    heard: BTreeMap<usize, Sender<WorkerOutput>>,
    /// All clients that there ever were.
    known: BTreeSet<usize>,
    open: HashMap<u64, Open>,
    last_id: u64,
    begun: Begun,
    /// Its last output.
    ended: Option<WorkerOutput>,
}

impl SharedProcess {
    /// Carries the lines of this process, whose connections go to `nodes`. Must be called inside a `LocalSet`.
    pub fn begin(
        mut stdin: WorkerStdin,
        mut stdout: WorkerStdout,
        is_shared: bool,
        nodes: Vec<String>,
        clock: Clock,
    ) -> Rc<Self> {
        let (to_send, mut requests) = local_channel();
        let lines = Lines::of_no_client(is_shared, nodes, clock, to_send);
        let lines = Rc::new(RefCell::new(lines));
        let writing = async move {
            while let Some(request) = requests.next().await {
                // If it no longer reads, the other task hears how it ended.
                if stdin.send(&request).await.is_err() {
                    return;
                }
            }
        };
        let listening = {
            let lines = Rc::clone(&lines);
            async move {
                // The last output is noted in `ended`; after it the next would come at once, for ever.
                while lines.borrow().ended.is_none() {
                    let output = stdout.next().await;
                    lines.borrow_mut().take(output);
                }
            }
        };
        Rc::new(SharedProcess {
            lines,
            tasks: [
                tokio::task::spawn_local(writing),
                tokio::task::spawn_local(listening),
            ],
        })
    }

    /// True if this client can begin here: the process runs, and it has not lived here before.
    pub fn takes(&self, client: usize) -> bool {
        let lines = self.lines.borrow();
        lines.ended.is_none() && !lines.known.contains(&client)
    }

    /// A client begins to use the line.
    pub fn connect(self: &Rc<Self>, client: usize) -> ClientLine {
        let (sender, heard) = local_channel();
        let mut lines = self.lines.borrow_mut();
        lines.known.insert(client);
        lines.heard.insert(client, sender);
        drop(lines);
        ClientLine {
            process: Rc::clone(self),
            client,
            heard,
        }
    }

    /// True if all clients use the same connections, so that nobody can tell from a connection whose command came.
    pub fn shares_connections(&self) -> bool {
        let lines = self.lines.borrow();
        lines.is_shared && lines.offers().own_connections != Some(true)
    }

    /// Asks the adapter to block its event loop, or the client's thread, for so long.
    pub fn block(&self, client: usize, scope: TaskScope, for_ms: u64) -> Unblocked {
        let (sender, unblocked) = oneshot::channel();
        let ask = RequestKind::Block { for_ms, scope };
        // If it has ended, the sender is dropped.
        let asked = Asked::Block(sender);
        let mut lines = self.lines.borrow_mut();
        lines.send(client, asked, ask).unwrap_or_default();
        unblocked
    }
}

impl ClientLine {
    /// Sends a request.
    ///
    /// # Errors
    /// The process has ended.
    pub fn send(&self, request: Request) -> Result<(), Closed> {
        let Request { id, ask, .. } = request;
        self.process.lines.borrow_mut().ask(self.client, id, ask)
    }

    /// The next thing that the client says, or that happens to its process. Cancel-safe.
    pub async fn next(&mut self) -> WorkerOutput {
        let gone = || WorkerOutput::Exited("the line is closed".into());
        self.heard.next().await.unwrap_or_else(gone)
    }

    /// The client is told nothing more, and what it was told is dropped: the process goes on for the others.
    pub fn stop_listening(&mut self) {
        self.process.lines.borrow_mut().heard.remove(&self.client);
        (_, self.heard) = local_channel();
    }
}

impl Drop for ClientLine {
    fn drop(&mut self) {
        self.process.lines.borrow_mut().heard.remove(&self.client);
    }
}

impl Lines {
    fn of_no_client(
        is_shared: bool,
        nodes: Vec<String>,
        clock: Clock,
        to_send: Sender<Request>,
    ) -> Self {
        Lines {
            is_shared,
            nodes,
            clock,
            to_send,
            heard: BTreeMap::new(),
            known: BTreeSet::new(),
            open: HashMap::new(),
            last_id: 0,
            begun: Begun::Not,
            ended: None,
        }
    }

    fn offers(&self) -> Offers {
        match &self.begun {
            Begun::Ready(Answer::Ready { offers, .. }) => *offers,
            _ => Offers::default(),
        }
    }

    /// A client asks. Its `init` begins the process if nobody has, and lets the client join.
    fn ask(&mut self, client: usize, id: u64, ask: RequestKind) -> Result<(), Closed> {
        let init = match ask {
            RequestKind::Init(init) => init,
            RequestKind::Cancel { of } => return self.cancel(client, of),
            ask => return self.send(client, Asked::Own(id), ask),
        };
        let (nodes, seed) = (init.nodes.clone(), init.seed);
        let join = Join { nodes, seed };
        match &mut self.begun {
            Begun::Asked(waiting) => {
                waiting.push((client, id, join));
                Ok(())
            }
            Begun::Ready(ready) => {
                let ready = ready.clone();
                self.join(client, id, join, &ready)
            }
            Begun::Not => {
                self.begun = Begun::Asked(vec![(client, id, join)]);
                let nodes = self.nodes.clone();
                let init = RequestKind::Init(Init { nodes, ..init });
                self.send(client, Asked::Init, init)
            }
        }
    }

    /// The process is ready. A client joins it, unless it is alone there, or must be: then this is its answer.
    fn join(&mut self, client: usize, id: u64, join: Join, ready: &Answer) -> Result<(), Closed> {
        if self.is_shared && self.offers().clients == Some(true) {
            return self.send(client, Asked::Join(id), RequestKind::Join(join));
        }
        self.reply(client, id, ready.clone());
        Ok(())
    }

    /// A client gives up its request of this number. That has no answer of its own.
    fn cancel(&mut self, client: usize, own: u64) -> Result<(), Closed> {
        let is_it = |open: &Open| {
            open.client == client && matches!(open.asked, Asked::Own(id) if id == own)
        };
        let asked = self.open.iter().find(|(_, open)| is_it(open));
        let Some((&of, _)) = asked else {
            // It has been answered.
            return Ok(());
        };
        self.last_id += 1;
        let (id, ask) = (self.last_id, RequestKind::Cancel { of });
        let client = self.is_shared.then_some(client);
        self.to_send.send(Request { id, client, ask })
    }

    fn send(&mut self, client: usize, asked: Asked, ask: RequestKind) -> Result<(), Closed> {
        if self.ended.is_some() {
            return Err(Closed);
        }
        self.last_id += 1;
        let id = self.last_id;
        let named = self.is_shared && !matches!(asked, Asked::Init);
        self.open.insert(id, Open { client, asked });
        let client = named.then_some(client);
        self.to_send.send(Request { id, client, ask })
    }

    fn reply(&self, client: usize, id: u64, answer: Answer) {
        let reply = WorkerMessage::reply(id, answer);
        self.tell(client, WorkerOutput::Message(reply));
    }

    /// A client that has left, or was killed, hears nothing.
    fn tell(&self, client: usize, output: WorkerOutput) {
        if let Some(heard) = self.heard.get(&client) {
            heard.send(output).unwrap_or_default();
        }
    }

    fn take(&mut self, output: WorkerOutput) {
        match output {
            WorkerOutput::Message(WorkerMessage::Reply { id, client, answer }) => {
                self.answered(id, client, answer);
            }
            WorkerOutput::Message(WorkerMessage::Event(event)) => self.event(event),
            WorkerOutput::Garbage(line) => self.broken(line),
            WorkerOutput::Exited(_) => {
                for client in self.heard.keys() {
                    self.tell(*client, output.clone());
                }
                self.open.clear();
                self.ended = Some(output);
            }
        }
    }

    fn answered(&mut self, id: u64, named: Option<usize>, answer: Answer) {
        let Some(open) = self.open.remove(&id) else {
            let fault = match id <= self.last_id {
                true => ProtocolFault::SecondAnswer { id },
                false => ProtocolFault::wrong_id(self.last_id, id),
            };
            return self.faulty(fault, id, answer);
        };
        let client = open.client;
        if let Some(found) = named.filter(|named| *named != client) {
            let fault = ProtocolFault::WrongClient {
                message: answer.reply(),
                found,
                asked: Some(client),
            };
            return self.faulty(fault, id, answer);
        }
        match (open.asked, answer) {
            (Asked::Join(own), Answer::Joined) => {
                if let Begun::Ready(ready) = &self.begun {
                    self.reply(client, own, ready.clone());
                }
            }
            // The driver says what is wrong with any other answer to its `init`.
            (Asked::Own(own) | Asked::Join(own), answer) => self.reply(client, own, answer),
            (Asked::Init, answer) => self.begun(answer),
            (Asked::Block(waits), Answer::Blocked) => {
                waits.send(Ok(self.clock.now_ns())).unwrap_or_default();
            }
            (Asked::Block(waits), Answer::Error { message, .. }) => {
                waits.send(Err(message)).unwrap_or_default();
            }
            (Asked::Block(_), answer) => {
                let fault = ProtocolFault::wrong_answer("block", answer.reply());
                self.faulty(fault, id, answer);
            }
        }
    }

    /// The answer to `init` is everybody's who waits for it.
    fn begun(&mut self, answer: Answer) {
        let Begun::Asked(waiting) = std::mem::replace(&mut self.begun, Begun::Not) else {
            return;
        };
        let is_ready = matches!(answer, Answer::Ready { .. });
        if is_ready {
            self.begun = Begun::Ready(answer.clone());
        }
        for (client, id, join) in waiting {
            match is_ready {
                // If it has ended meanwhile, everybody hears that.
                true => self.join(client, id, join, &answer).unwrap_or_default(),
                false => self.reply(client, id, answer.clone()),
            }
        }
    }

    fn event(&mut self, event: Notification) {
        let client = match (event.client(), self.is_shared) {
            (Some(client), true) => client,
            (_, false) => match self.known.first() {
                Some(alone) => *alone,
                None => return,
            },
            (None, true) => {
                let (message, field) = (event.event(), "client");
                let fault = ProtocolFault::MissingField { message, field };
                return self.broken(malformed(fault, &event));
            }
        };
        if !self.known.contains(&client) {
            let fault = ProtocolFault::WrongClient {
                message: event.event(),
                found: client,
                asked: None,
            };
            return self.broken(malformed(fault, &event));
        }
        self.tell(client, WorkerOutput::Message(WorkerMessage::Event(event)));
    }

    fn faulty(&self, fault: ProtocolFault, id: u64, answer: Answer) {
        self.broken(malformed(fault, &WorkerMessage::reply(id, answer)));
    }

    /// The process has broken the protocol. One client tells it: with it all of them end.
    fn broken(&self, line: MalformedLine) {
        if let Some(client) = self.heard.keys().next() {
            self.tell(*client, WorkerOutput::Garbage(line));
        }
    }
}

fn malformed(fault: ProtocolFault, message: &impl serde::Serialize) -> MalformedLine {
    let line = serde_json::to_string(message).unwrap_or_default();
    let line = cut(&line, LINE_KEPT);
    MalformedLine { fault, line }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process of two clients that reads and writes nothing.
    fn process() -> Rc<SharedProcess> {
        let (to_send, _) = local_channel();
        let lines = Lines::of_no_client(true, Vec::new(), Clock::start(), to_send);
        let idle = || tokio::task::spawn_local(std::future::pending::<()>());
        Rc::new(SharedProcess {
            lines: Rc::new(RefCell::new(lines)),
            tasks: [idle(), idle()],
        })
    }

    #[tokio::test]
    async fn client_that_listens_no_more_is_told_nothing() {
        let tasks = tokio::task::LocalSet::new();
        let told = tasks.run_until(async {
            let process = process();
            let (mut flooding, mut other) = (process.connect(0), process.connect(1));
            let event = Notification::Lost {
                token: "a".into(),
                client: Some(0),
            };
            let event = WorkerOutput::Message(WorkerMessage::Event(event));
            process.lines.borrow_mut().take(event.clone());
            flooding.stop_listening();
            assert_eq!(process.lines.borrow().heard.len(), 1);
            process.lines.borrow_mut().take(event);
            let closed = WorkerOutput::Exited("the line is closed".into());
            assert_eq!(flooding.next().await, closed);
            let ended = WorkerOutput::Exited("killed".into());
            process.lines.borrow_mut().take(ended.clone());
            assert_eq!(other.next().await, ended);
        });
        told.await;
    }
}

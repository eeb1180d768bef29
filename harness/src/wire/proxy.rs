//! The wire as its users see it: a proxy of links, with connections, faults and the log.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use picklock_scenarios::{Direction, Phase};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, watch};

use super::LinkId;
use super::client_user::serves;
use super::command::Keys;
use super::connection::carry;
use super::fault::{ImposedId, LinkFault};
use super::fault_rules::FaultRules;
use super::frame_budget::FrameBudget;
use super::freeze_check::{FreezeLeak, Received, Silences};
use super::imposed_faults::ImposedFaults;
use super::interceptor::Interceptor;
use super::link::ServerLink;
use super::log::WireLog;
use super::login::Login;
use super::loopback::only_loopback;
use super::operation::{CurrentOperation, Operation};
use super::resource_exhaustion::{Shortage, Shortages};
use super::sent_requests::SentRequests;
use super::taking::{TakingQuestion, TakingQuestions};
use crate::clock::Clock;
use crate::entropy;

/// Pause after a failed accept: the machine may be out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// The proxy between all workers and all nodes of a run. Copies are handles on the same wire.
///
/// It must be [closed](Wire::close) before its runtime ends for the log to be complete.
#[derive(Clone)]
pub struct Wire {
    pub(super) proxy: Arc<Proxy>,
}

/// What all links and connections share.
pub(super) struct Proxy {
    pub clock: Clock,
    pub keys: Keys,
    pub interceptor: Arc<dyn Interceptor>,
    pub log: WireLog,
    seed: u64,
    pub faults: Arc<ImposedFaults>,
    pub frame_budget: FrameBudget,
    pub silences: Silences,
    pub shortages: Shortages,
    pub taking_questions: TakingQuestions,
    registry: Mutex<Registry>,
    /// What was sent, if the servers' own account is to be joined with it.
    pub sent: OnceLock<SentRequests>,
    /// How to log in to the servers, if they want it.
    pub login: OnceLock<Login>,
    /// True once the wire is closed.
    closed: watch::Sender<bool>,
    /// Notified when a listener or connection ends.
    ended: Notify,
}

#[derive(Default)]
struct Registry {
    /// Where each link leads; `None`: nowhere for now.
    upstreams: HashMap<ServerLink, Option<SocketAddr>>,
    operations: HashMap<usize, Arc<CurrentOperation>>,
    connections: BTreeMap<u64, Connection>,
    /// How many other tasks must have ended before the wire is closed.
    tasks: usize,
    next_conn: u64,
}

struct Connection {
    link: LinkId,
    cut: Arc<Notify>,
}

impl Wire {
    /// A wire without links. `keys`: the names of the locks' keys, for which commands are searched;
    /// a key's number is its position. `seed`: what jitter is drawn from.
    pub fn new(
        clock: Clock,
        keys: Vec<String>,
        seed: u64,
        interceptor: Arc<dyn Interceptor>,
    ) -> Self {
        let log = WireLog::new(&keys);
        Wire {
            proxy: Arc::new(Proxy {
                clock,
                keys: Keys::new(&keys),
                interceptor,
                log,
                seed,
                faults: Arc::new(ImposedFaults::new()),
                frame_budget: FrameBudget::default(),
                silences: Silences::default(),
                shortages: Shortages::default(),
                taking_questions: TakingQuestions::default(),
                registry: Mutex::default(),
                sent: OnceLock::new(),
                login: OnceLock::new(),
                closed: watch::Sender::new(false),
                ended: Notify::new(),
            }),
        }
    }

    /// Opens a link, and returns the loopback address on which its worker reaches the node. Must be
    /// called in a tokio runtime, which then runs the link.
    ///
    /// # Errors
    /// When `upstream` is not a loopback address, the link is open already, the wire is closed,
    /// or no port is free.
    pub async fn open(&self, link: LinkId, upstream: SocketAddr) -> io::Result<SocketAddr> {
        self.open_server(link, 0, upstream).await
    }

    /// The same for a server of the node that is not its first: with Sentinels, each of them can be
    /// its master. Every fault on the node's links strikes this one too.
    ///
    /// # Errors
    /// As [`Wire::open`].
    pub async fn open_server(
        &self,
        link: LinkId,
        server: usize,
        upstream: SocketAddr,
    ) -> io::Result<SocketAddr> {
        only_loopback(upstream)?;
        let server_link = ServerLink { link, server };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        {
            let mut registry = self.proxy.registry();
            if registry.upstreams.contains_key(&server_link) {
                let message = format!("{link} is open already");
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
            }
            if *self.proxy.closed.borrow() {
                return Err(io::Error::other("the wire is closed"));
            }
            registry.upstreams.insert(server_link, Some(upstream));
        }
        self.listens(link.worker, address.port());
        let proxy = Arc::clone(&self.proxy);
        let listening = Listening {
            task: self.register_task()?,
            listener,
            worker: link.worker,
            node: Some(link.node),
        };
        tokio::spawn(listening.run(move |client, received| {
            spawn_connection(&proxy, server_link, client, received);
        }));
        Ok(address)
    }

    /// Registers a task. The wire is not closed before the guard is dropped.
    pub(super) fn register_task(&self) -> io::Result<TaskGuard> {
        let mut registry = self.proxy.registry();
        if *self.proxy.closed.borrow() {
            return Err(io::Error::other("the wire is closed"));
        }
        registry.tasks += 1;
        Ok(TaskGuard(Arc::clone(&self.proxy)))
    }

    /// A node's first server has come back, perhaps at another address: its links lead there from
    /// now on. If the address has changed, the node's connections are reset. Workers keep their
    /// own addresses.
    ///
    /// # Errors
    /// When `upstream` is not a loopback address.
    pub fn redirect(&self, node: usize, upstream: SocketAddr) -> io::Result<()> {
        only_loopback(upstream)?;
        let mut moved = false;
        {
            let mut registry = self.proxy.registry();
            let links = registry.upstreams.iter_mut();
            for (_, address) in links.filter(|(to, _)| to.link.node == node && to.server == 0) {
                // Nothing leads to a server that was gone.
                moved |= address.is_some_and(|address| address != upstream);
                *address = Some(upstream);
            }
        }
        // If nothing has moved, a connection may lead to the new server already.
        if moved {
            self.cut(None, Some(&[node]));
        }
        Ok(())
    }

    /// From now on each connection first gives this password to its server. Call it before there is one.
    pub fn log_in(&self, password: &str) {
        self.proxy.login.get_or_init(|| Login::with(password));
    }

    pub(super) fn login(&self) -> Option<Login> {
        self.proxy.login.get().cloned()
    }

    /// The wire's questions which command took a lock. Without anybody who listens, nobody can say.
    /// Called once, after [`Wire::keep_requests`], which numbers the commands.
    pub fn taking_questions(&self) -> mpsc::UnboundedReceiver<TakingQuestion> {
        self.proxy.taking_questions.listen()
    }

    /// The node's first server is gone: new connections to it are refused until
    /// [`Wire::redirect`] says where it is.
    pub fn close_node(&self, node: usize) {
        let mut registry = self.proxy.registry();
        let links = registry.upstreams.iter_mut();
        for (_, upstream) in links.filter(|(to, _)| to.link.node == node && to.server == 0) {
            *upstream = None;
        }
    }

    /// A link of the worker listens on this port.
    pub(super) fn listens(&self, worker: usize, port: u16) {
        self.proxy.silences.listens(worker, port);
    }

    /// The run's clock.
    pub(super) fn clock(&self) -> Clock {
        self.proxy.clock.clone()
    }

    /// Says what the driver is about to ask a worker for. What the worker sends from now on is
    /// tagged with it, and so are the answers. Call it before the worker is asked.
    pub fn set_phase(&self, worker: usize, op: u64, phase: Phase) {
        self.proxy
            .current_operation(worker)
            .set(Operation { op, phase });
    }

    /// Imposes a fault. It does not strike frames that have been sent or wait already, but a
    /// partition stops those that wait too.
    pub fn impose(&self, fault: LinkFault) -> ImposedId {
        self.proxy.faults.impose(fault)
    }

    /// Lifts a fault. What it kept back goes on, in order. Delays that it has dealt out stay.
    pub fn lift(&self, id: ImposedId) {
        self.proxy.faults.lift(id);
    }

    /// How many frames a fault has struck so far, whether it is in force or lifted; for a
    /// partition, how often it has stopped something.
    pub fn struck(&self, id: ImposedId) -> u64 {
        self.proxy.faults.struck(id)
    }

    /// Resets the connections of these workers to these nodes (`None`: of all), on both sides.
    /// Returns how many there were.
    pub fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) -> usize {
        let lists = |list: Option<&[usize]>, number| list.is_none_or(|list| list.contains(&number));
        let registry = self.proxy.registry();
        let open = registry.connections.values();
        open.filter(|open| lists(workers, open.link.worker) && lists(nodes, open.link.node))
            .map(|open| open.cut.notify_one())
            .count()
    }

    /// From now on nothing may come from this worker on any of its links: it has stopped, or is
    /// dead. Of what it wrote before, what has not arrived or was not read may still come.
    ///
    /// # Errors
    /// The kernel does not say what may still come. Then nothing can be proved.
    pub async fn begin_silence(&self, worker: usize) -> io::Result<()> {
        self.proxy.silences.begin(worker).await
    }

    /// What has come from the worker since its silence began; `None`: nothing.
    pub fn escape(&self, worker: usize) -> Option<FreezeLeak> {
        self.proxy.silences.escape(worker)
    }

    /// The worker may speak again.
    pub fn end_silence(&self, worker: usize) {
        self.proxy.silences.end(worker);
    }

    /// True when anything has come from the worker on a link to a node.
    pub fn has_spoken(&self, worker: usize) -> bool {
        self.proxy.silences.has_spoken(worker)
    }

    /// What the wire could not do; each only once.
    pub fn take_shortages(&self) -> Vec<Shortage> {
        self.proxy.shortages.take()
    }

    /// Adds such a sentence about another part of the harness, unless it is known.
    pub fn note_shortage(&self, sentence: String) {
        self.proxy.shortages.add(Shortage::Exhausted(sentence));
    }

    /// The command log.
    pub fn log(&self) -> &WireLog {
        &self.proxy.log
    }

    /// Closes all listeners, resets all connections, and returns when they have ended. The log is
    /// complete then.
    pub async fn close(&self) {
        self.proxy.closed.send_replace(true);
        loop {
            let ended = self.proxy.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            {
                let registry = self.proxy.registry();
                let open = registry.connections.values();
                open.for_each(|open| open.cut.notify_one());
                if registry.tasks == 0 && registry.connections.is_empty() {
                    return;
                }
            }
            ended.await;
        }
    }
}

impl Proxy {
    fn registry(&self) -> MutexGuard<'_, Registry> {
        // It is complete between two statements, so a panic elsewhere does not spoil it.
        let registry = self.registry.lock();
        registry.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn current_operation(&self, worker: usize) -> Arc<CurrentOperation> {
        Arc::clone(self.registry().operations.entry(worker).or_default())
    }

    pub(super) fn upstream(&self, server_link: ServerLink) -> Option<SocketAddr> {
        self.registry()
            .upstreams
            .get(&server_link)
            .copied()
            .flatten()
    }

    pub(super) fn cut_notice(&self, conn: u64) -> Arc<Notify> {
        let registry = self.registry();
        registry
            .connections
            .get(&conn)
            .map_or_else(Arc::default, |open| Arc::clone(&open.cut))
    }

    pub(super) fn fault_rules(
        &self,
        link: LinkId,
        conn: u64,
        direction: Option<Direction>,
    ) -> FaultRules {
        let stream = match direction {
            Some(Direction::Request) => "wire jitter of requests",
            _ => "wire jitter of replies",
        };
        let seed = entropy::derive(self.seed, stream, conn);
        self.faults.rules(link, conn, direction, seed)
    }

    fn add_connection(&self, link: LinkId) -> u64 {
        let mut registry = self.registry();
        let conn = registry.next_conn;
        registry.next_conn += 1;
        let cut = Arc::default();
        registry.connections.insert(conn, Connection { link, cut });
        conn
    }
}

/// Counts a task until it is dropped: the wire is not closed before.
pub(super) struct TaskGuard(Arc<Proxy>);

impl TaskGuard {
    /// Ready when the wire is to be closed.
    pub(super) async fn closed(&self) {
        let mut closed = self.0.closed.subscribe();
        // The sender lives as long as the proxy.
        let _ = closed.wait_for(|closed| *closed).await;
    }
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.0.registry().tasks -= 1;
        self.0.ended.notify_waiters();
    }
}

/// The listener of one link.
pub(super) struct Listening {
    pub(super) task: TaskGuard,
    pub(super) listener: TcpListener,
    pub(super) worker: usize,
    /// `None`: the link leads to a Sentinel.
    pub(super) node: Option<usize>,
}

impl Listening {
    /// Accepts connections until the wire is closed.
    pub(super) async fn run(self, accept: impl Fn(TcpStream, Arc<Received>)) {
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.task.closed() => break,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((client, peer)) => {
                    // Small replies must not wait. It fails only on dead sockets.
                    let _ = client.set_nodelay(true);
                    if serves(&client, peer, self.worker, &self.task.0.shortages) {
                        accept(client, self.received(peer));
                    }
                }
                Err(error) => {
                    let worker = self.worker;
                    let what = format!("the wire cannot accept a connection of worker {worker}");
                    self.task.0.shortages.note(&what, &error);
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        // The port is free before the wire counts as closed.
        drop(self.listener);
    }

    fn received(&self, peer: SocketAddr) -> Arc<Received> {
        // A socket that listens has an address.
        let port = self.listener.local_addr().map_or(0, |ours| ours.port());
        let Proxy {
            silences, clock, ..
        } = &*self.task.0;
        silences.accepted(self.worker, self.node, (port, peer.port()), clock.now_ns())
    }
}

fn spawn_connection(
    proxy: &Arc<Proxy>,
    server_link: ServerLink,
    client: TcpStream,
    received: Arc<Received>,
) {
    let guard = ConnectionGuard {
        conn: proxy.add_connection(server_link.link),
        proxy: Arc::clone(proxy),
    };
    tokio::spawn(async move {
        carry(&guard.proxy, server_link, guard.conn, client, received).await;
    });
}

/// Removes a connection from the registry when it has ended, in whatever way.
struct ConnectionGuard {
    proxy: Arc<Proxy>,
    conn: u64,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.proxy.registry().connections.remove(&self.conn);
        self.proxy.ended.notify_waiters();
    }
}

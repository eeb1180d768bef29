//! The proxy as its users see it: links with connections, faults and the log.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use picklock_scenarios::Phase;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, watch};

use super::LinkId;
use super::client_user::serves;
use super::connection::carry;
use super::freeze_check::{FreezeMonitor, Received};
use super::interceptor::Interceptor;
use super::link::ServerLink;
use super::proxy_state::{ProxyState, TaskGuard};
use super::resource_exhaustion::{ProxyIncident, ProxyIncidents};
use crate::clock::Clock;
use crate::proxy::command_log::acquire_detection::{AcquireQuestion, AcquireQuestions};
use crate::proxy::command_log::acquire_traffic::{CommandsSent, IdleWait};
use crate::proxy::command_log::log::CommandLog;
use crate::proxy::command_log::operation::Operation;
use crate::proxy::command_log::sent_requests::SentRequests;
use crate::proxy::faults::fault::{ImposedId, LinkFault};
use crate::proxy::faults::imposed_faults::ImposedFaults;
use crate::proxy::resp::command::Keys;
use crate::proxy::resp::frame_budget::FrameBudget;

/// Pause after a failed accept: the machine may be out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// The proxy between all workers and all nodes of a run. Copies are handles on the same proxy.
///
/// It must be [closed](Proxy::close) before its runtime ends for the log to be complete.
#[derive(Clone)]
pub struct Proxy {
    pub(super) state: Arc<ProxyState>,
}

impl Proxy {
    /// A proxy without links. `keys`: the names of the locks' keys, for which commands are searched;
    /// a key's number is its position. `seed`: what jitter is drawn from.
    pub fn new(
        clock: Clock,
        keys: Vec<String>,
        seed: u64,
        interceptor: Arc<dyn Interceptor>,
    ) -> Self {
        let log = CommandLog::new(&keys);
        Proxy {
            state: Arc::new(ProxyState {
                clock,
                keys: Keys::new(&keys),
                interceptor,
                log,
                seed,
                faults: Arc::new(ImposedFaults::new()),
                frame_budget: FrameBudget::default(),
                freeze_monitor: FreezeMonitor::default(),
                shortages: ProxyIncidents::default(),
                acquire_questions: AcquireQuestions::default(),
                registry: Mutex::default(),
                sent: OnceLock::new(),
                password: OnceLock::new(),
                closed: watch::Sender::new(false),
                ended: Notify::new(),
            }),
        }
    }

    /// Opens a link, and returns the loopback address on which its worker reaches the node. Must be
    /// called in a tokio runtime, which then runs the link.
    ///
    /// # Errors
    /// When `upstream` is not a loopback address, the link is open already, the proxy is closed,
    /// or no port is free.
    pub async fn open(&self, link: LinkId, upstream: SocketAddr) -> io::Result<SocketAddr> {
        self.open_server(link, 0, upstream).await
    }

    /// The same for a server of the node that is not its first: with Sentinels, each of them can be
    /// its master. Every fault on the node's links strikes this one too.
    ///
    /// # Errors
    /// As [`Proxy::open`].
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
            let mut registry = self.state.registry();
            if registry.upstreams.contains_key(&server_link) {
                let message = format!("{link} is open already");
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
            }
            self.state.must_be_open()?;
            registry.upstreams.insert(server_link, Some(upstream));
        }
        self.state
            .freeze_monitor
            .listens(link.worker, address.port());
        let state = Arc::clone(&self.state);
        let listening = Listening {
            task: self.state.register_task()?,
            listener,
            worker: link.worker,
            node: Some(link.node),
        };
        tokio::spawn(listening.run(move |client, received| {
            let guard = state.add_connection(server_link.link);
            tokio::spawn(async move {
                carry(&guard.state, server_link, guard.conn, client, received).await;
            });
        }));
        Ok(address)
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
            let mut registry = self.state.registry();
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

    /// From now on connections introduce themselves to their servers, and what they send is kept
    /// until a server says that it has executed it. Call it before the first connection. `token`: what tells
    /// this run's connections from those of others at the same servers; empty where there are no others.
    pub fn keep_requests(&self, token: &str) {
        let sent = || SentRequests::of_run(token.to_owned());
        self.state.sent.get_or_init(sent);
    }

    /// What was sent; `None`: it is not kept.
    #[cfg(feature = "servers")]
    pub(crate) fn sent_requests(&self) -> Option<&SentRequests> {
        self.state.sent.get()
    }

    /// From now on each connection first gives this password to its server. Call it before there is one.
    pub fn log_in(&self, password: &str) {
        self.state.password.get_or_init(|| password.to_owned());
    }

    /// From now on these are the keys of a node that hold locks under names of another kind: the lock, and
    /// the key's name.
    pub fn derive_keys(&self, node: usize, keys: &[(u32, Vec<u8>)]) {
        self.state.keys.derive(node, keys);
    }

    /// The proxy's questions which command took a lock, or which lock's key it changed. Without anybody who listens, nobody can say.
    /// Called once, after [`Proxy::keep_requests`], which numbers the commands.
    pub fn acquire_questions(&self) -> mpsc::UnboundedReceiver<AcquireQuestion> {
        self.state.acquire_questions.listen()
    }

    /// The node's first server is gone: new connections to it are refused until
    /// [`Proxy::redirect`] says where it is.
    pub fn close_node(&self, node: usize) {
        let mut registry = self.state.registry();
        let links = registry.upstreams.iter_mut();
        for (_, upstream) in links.filter(|(to, _)| to.link.node == node && to.server == 0) {
            *upstream = None;
        }
    }

    /// Says what the driver is about to ask a worker for. What the worker sends from now on is
    /// tagged with it, and so are the answers. Call it before the worker is asked.
    pub fn set_phase(&self, worker: usize, op: u64, phase: Phase) {
        let now_ns = self.state.clock.now_ns();
        let operation = self.state.current_operation(worker);
        operation.set(Operation { op, phase }, now_ns);
    }

    /// The longest time in which a worker that is asked to acquire has sent nothing. `None`: it is not.
    pub fn silence(&self, worker: usize) -> Option<IdleWait> {
        let now_ns = self.state.clock.now_ns();
        let operation = self.state.current_operation(worker);
        operation.traffic().silence(now_ns)
    }

    /// From when until when a worker was asked for a lock for the first time and had sent nothing.
    pub fn first_silence(&self, worker: usize) -> Option<(u64, u64)> {
        let now_ns = self.state.clock.now_ns();
        let operation = self.state.current_operation(worker);
        operation.traffic().first_silence(now_ns)
    }

    /// How many commands all workers have sent.
    pub fn commands_sent(&self) -> CommandsSent {
        let registry = self.state.registry();
        let all = registry.operations.values();
        all.map(|operation| operation.traffic().commands()).sum()
    }

    /// Imposes a fault. It does not strike frames that have been sent or wait already, but a
    /// partition stops those that wait too.
    pub fn impose(&self, fault: LinkFault) -> ImposedId {
        self.state.faults.impose(fault)
    }

    /// Lifts a fault. What it kept back goes on, in order. Delays that it has dealt out stay. Connections
    /// in which it has swallowed something are reset.
    pub fn lift(&self, id: ImposedId) {
        for conn in self.state.faults.lift(id) {
            self.state.cut_notice(conn).notify_one();
        }
    }

    /// How many frames a fault has struck so far, whether it is in force or lifted; for a
    /// partition, how often it has stopped something.
    pub fn struck(&self, id: ImposedId) -> u64 {
        self.state.faults.struck(id)
    }

    /// Resets the connections of these workers to these nodes (`None`: of all), on both sides.
    /// Returns how many there were.
    pub fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) -> usize {
        let lists = |list: Option<&[usize]>, number| list.is_none_or(|list| list.contains(&number));
        let registry = self.state.registry();
        let open = registry.connections.values();
        open.filter(|open| lists(workers, open.link.worker) && lists(nodes, open.link.node))
            .map(|open| open.cut.notify_one())
            .count()
    }

    /// From which workers nothing may come, and what came nevertheless.
    pub fn freeze_monitor(&self) -> &FreezeMonitor {
        &self.state.freeze_monitor
    }

    /// What the proxy could not do; each only once.
    pub fn take_incidents(&self) -> Vec<ProxyIncident> {
        self.state.shortages.take()
    }

    /// Adds such a sentence about another part of the harness, unless it is known.
    pub fn record_incident(&self, sentence: String) {
        self.state.shortages.add(ProxyIncident::Exhausted(sentence));
    }

    /// The command log.
    pub fn log(&self) -> &CommandLog {
        &self.state.log
    }

    /// Closes all listeners, resets all connections, and returns when they have ended. The log is
    /// complete then.
    pub async fn close(&self) {
        self.state.closed.send_replace(true);
        loop {
            let ended = self.state.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            {
                let registry = self.state.registry();
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

/// A run must not send anything to another machine.
pub(super) fn only_loopback(address: SocketAddr) -> io::Result<()> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{address} is not a loopback address; the proxy only leads to this machine"),
    ))
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
    /// Accepts connections until the proxy is closed.
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
                    let what = format!("the proxy cannot accept a connection of worker {worker}");
                    self.task.0.shortages.note(&what, &error);
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        // The port is free before the proxy counts as closed.
        drop(self.listener);
    }

    fn received(&self, peer: SocketAddr) -> Arc<Received> {
        // A socket that listens has an address.
        let port = self.listener.local_addr().map_or(0, |ours| ours.port());
        let ProxyState {
            freeze_monitor,
            clock,
            ..
        } = &*self.task.0;
        freeze_monitor.accepted(self.worker, self.node, (port, peer.port()), clock.now_ns())
    }
}

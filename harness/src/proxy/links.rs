//! The public interface of the proxy: links with connections, faults and the log.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use picklock_scenarios::Phase;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, watch};

use super::LinkId;
use super::client_user::admits;
use super::connection::carry;
use super::freeze_monitor::{FreezeMonitor, ReceivedBytes};
use super::incidents::{ProxyIncident, ProxyIncidents};
use super::interceptor::Interceptor;
use super::link::ServerLink;
use super::operation::Operation;
use super::proxy_state::{ProxyState, TaskGuard};
use crate::clock::Clock;
use crate::proxy::command_log::acquire_detection::{EffectQueries, EffectQuery};
use crate::proxy::command_log::acquire_traffic::{CommandsSent, IdleWait};
use crate::proxy::command_log::log::CommandLog;
use crate::proxy::command_log::sent_requests::SentRequests;
use crate::proxy::faults::fault::{ImposedId, LinkFault};
use crate::proxy::faults::imposed_faults::ImposedFaults;
use crate::proxy::resp::command::Keys;
use crate::proxy::resp::frame_budget::FrameBudget;

/// Pause after a failed accept, because the machine may be out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// The proxy between all workers and all nodes of a run. Clones share the same proxy.
///
/// The proxy must be [closed](Proxy::close) before its runtime ends; otherwise the log is incomplete.
#[derive(Clone)]
pub struct Proxy {
    pub(super) state: Arc<ProxyState>,
}

impl Proxy {
    /// Creates a proxy without links. Commands are searched for `keys`, the names of the locks' keys; a key's
    /// number is its index. Jitter is drawn from `seed`.
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
                incidents: ProxyIncidents::default(),
                effect_queries: EffectQueries::default(),
                registry: Mutex::default(),
                sent: OnceLock::new(),
                password: OnceLock::new(),
                closed: watch::Sender::new(false),
                ended: Notify::new(),
            }),
        }
    }

    /// Opens a link, and returns the loopback address at which its worker reaches the node. Must be called in a tokio
    /// runtime, which then runs the link.
    ///
    /// # Errors
    /// Returns an error if `upstream` is not a loopback address, if the link is already open, if the proxy is closed,
    /// or if no port is free.
    pub async fn open(&self, link: LinkId, upstream: SocketAddr) -> io::Result<SocketAddr> {
        self.open_server(link, 0, upstream).await
    }

    /// Opens a link to a further server of the node. With Sentinels, each server can become the master. Faults on the
    /// node's links also affect this link.
    ///
    /// # Errors
    /// Returns an error under the same conditions as [`Proxy::open`].
    pub async fn open_server(
        &self,
        link: LinkId,
        server: usize,
        upstream: SocketAddr,
    ) -> io::Result<SocketAddr> {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        self.open_at(ServerLink { link, server }, listen, upstream)
            .await
    }

    /// Opens a link that listens on the given loopback address. Port 0 selects any free port.
    ///
    /// # Errors
    /// Returns an error under the same conditions as [`Proxy::open`], or if `listen` is not a loopback address.
    pub async fn listen_on(
        &self,
        link: LinkId,
        listen: SocketAddr,
        upstream: SocketAddr,
    ) -> io::Result<SocketAddr> {
        only_loopback(listen)?;
        self.open_at(ServerLink { link, server: 0 }, listen, upstream)
            .await
    }

    async fn open_at(
        &self,
        server_link: ServerLink,
        listen: SocketAddr,
        upstream: SocketAddr,
    ) -> io::Result<SocketAddr> {
        only_loopback(upstream)?;
        let link = server_link.link;
        let listener = TcpListener::bind(listen).await?;
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
            .add_port(link.worker, address.port());
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

    /// Redirects a node's links to the current address of its first server, which was restarted. If the address has
    /// changed, the node's connections are reset. Workers keep using the same addresses.
    ///
    /// # Errors
    /// Returns an error if `upstream` is not a loopback address.
    pub fn redirect(&self, node: usize, upstream: SocketAddr) -> io::Result<()> {
        only_loopback(upstream)?;
        let mut moved = false;
        {
            let mut registry = self.state.registry();
            let links = registry.upstreams.iter_mut();
            for (_, address) in links.filter(|(to, _)| to.link.node == node && to.server == 0) {
                // A server that was down has no connections that would have to be reset.
                moved |= address.is_some_and(|address| address != upstream);
                *address = Some(upstream);
            }
        }
        // If the address is the same, connections may already lead to the new server.
        if moved {
            self.cut(None, Some(&[node]));
        }
        Ok(())
    }

    /// Lets connections introduce themselves to their servers, and tracks the requests on them until a server reports
    /// their execution. Call this before the first connection. The `token` distinguishes this run's connections from
    /// those of other runs on the same servers; it may be empty if there are no other runs.
    pub fn track_requests(&self, token: &str) {
        self.state
            .sent
            .get_or_init(|| SentRequests::with_token(token.to_owned()));
    }

    /// Returns the tracked requests, or `None` if requests are not tracked.
    #[cfg(feature = "servers")]
    pub(crate) fn sent_requests(&self) -> Option<&SentRequests> {
        self.state.sent.get()
    }

    /// Lets each connection log in to its server with this password. Call this before the first connection.
    pub fn log_in(&self, password: &str) {
        self.state.password.get_or_init(|| password.to_owned());
    }

    /// Replaces the list of a node's keys that hold locks under derived names. Each entry is a lock and the key's name.
    pub fn derive_keys(&self, node: usize, keys: &[(u32, Vec<u8>)]) {
        self.state.keys.derive(node, keys);
    }

    /// Returns the proxy's queries for the effects of commands. While no task answers them, effects are unknown. Call
    /// this once, after [`Proxy::track_requests`], which numbers the commands.
    pub fn effect_queries(&self) -> mpsc::UnboundedReceiver<EffectQuery> {
        self.state.effect_queries.receiver()
    }

    /// Refuses new connections to the node's first server, which is down, until [`Proxy::redirect`] sets its new
    /// address.
    pub fn close_node(&self, node: usize) {
        let mut registry = self.state.registry();
        let links = registry.upstreams.iter_mut();
        for (_, upstream) in links.filter(|(to, _)| to.link.node == node && to.server == 0) {
            *upstream = None;
        }
    }

    /// Sets the operation that the driver is about to request from a worker. All later commands of the worker, and
    /// their replies, are tagged with this operation. Call this before the request is sent.
    pub fn set_phase(&self, worker: usize, op: u64, phase: Phase) {
        let now_ns = self.state.clock.now_ns();
        let operation = self.state.current_operation(worker);
        operation.set(Operation { op, phase }, now_ns);
    }

    /// Returns the longest time without a command that could take a lock in the worker's current attempt to
    /// acquire, or `None` if the worker is not acquiring.
    pub fn idle_wait(&self, worker: usize) -> Option<IdleWait> {
        let now_ns = self.state.clock.now_ns();
        let operation = self.state.current_operation(worker);
        operation.traffic().idle_wait(now_ns)
    }

    /// Returns the interval from the worker's first request for a lock until its first command.
    pub fn first_idle_wait(&self, worker: usize) -> Option<(u64, u64)> {
        let now_ns = self.state.clock.now_ns();
        let operation = self.state.current_operation(worker);
        operation.traffic().first_idle_wait(now_ns)
    }

    /// Returns the number of commands that all workers have sent.
    pub fn commands_sent(&self) -> CommandsSent {
        let registry = self.state.registry();
        let all = registry.operations.values();
        all.map(|operation| operation.traffic().commands()).sum()
    }

    /// Imposes a fault. The fault does not affect frames that have been sent or are already waiting, except that a
    /// partition also stops waiting frames.
    pub fn impose(&self, fault: LinkFault) -> ImposedId {
        self.state.faults.impose(fault)
    }

    /// Lifts a fault. Frames that the fault held are forwarded in order, and delays that it has assigned stay.
    /// Connections in which it has dropped frames are reset, unless it has a frame limit.
    pub fn lift(&self, id: ImposedId) {
        for conn in self.state.faults.lift(id) {
            self.cut_connection(conn);
        }
    }

    /// Removes a fault that has affected all of its frames, together with its count.
    pub fn forget(&self, id: ImposedId) {
        self.state.faults.forget(id);
    }

    /// Returns the number of frames that a fault has affected so far, whether it is in force or lifted. For a
    /// partition, returns how often it has stopped a frame or a handshake.
    pub fn affected_frames(&self, id: ImposedId) -> u64 {
        self.state.faults.affected_frames(id)
    }

    /// Resets, on both sides, the connections of these workers to these nodes (`None` means all). Returns the
    /// number of connections.
    pub fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) -> usize {
        let lists = |list: Option<&[usize]>, number| list.is_none_or(|list| list.contains(&number));
        let registry = self.state.registry();
        let open = registry.connections.values();
        open.filter(|open| lists(workers, open.link.worker) && lists(nodes, open.link.node))
            .map(|open| open.cut.notify_one())
            .count()
    }

    /// Resets a connection on both sides.
    pub fn cut_connection(&self, conn: u64) {
        self.state.cut_notice(conn).notify_one();
    }

    /// Returns the monitor that detects data from frozen and dead workers.
    pub fn freeze_monitor(&self) -> &FreezeMonitor {
        &self.state.freeze_monitor
    }

    /// Returns the incidents since the last call. Each incident is returned only once.
    pub fn take_incidents(&self) -> Vec<ProxyIncident> {
        self.state.incidents.take()
    }

    /// Records that another part of the harness ran out of a resource, unless the same incident is already recorded.
    pub fn record_incident(&self, description: String) {
        self.state
            .incidents
            .add(ProxyIncident::Exhausted(description));
    }

    /// Returns the command log.
    pub fn log(&self) -> &CommandLog {
        &self.state.log
    }

    /// Closes all listeners, resets all connections, and waits until they have ended. Then the log is complete.
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

/// Returns an error if the address is not on this machine, because a run must not send data to another machine.
pub(super) fn only_loopback(address: SocketAddr) -> io::Result<()> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{address} is not a loopback address; the proxy connects only to this machine"),
    ))
}

/// The listener of one link.
pub(super) struct Listening {
    pub(super) task: TaskGuard,
    pub(super) listener: TcpListener,
    pub(super) worker: usize,
    /// Node that the link leads to, or `None` for a link to a Sentinel.
    pub(super) node: Option<usize>,
}

impl Listening {
    /// Accepts connections until the proxy is closed.
    pub(super) async fn run(self, accept: impl Fn(TcpStream, Arc<ReceivedBytes>)) {
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.task.closed() => break,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((client, peer)) => {
                    // Without this, small replies would be delayed. The call fails only on dead sockets.
                    let _ = client.set_nodelay(true);
                    if admits(&client, peer, self.worker, &self.task.0.incidents) {
                        accept(client, self.received(peer));
                    }
                }
                Err(error) => {
                    let worker = self.worker;
                    let failure =
                        format!("the proxy cannot accept a connection of client {worker}");
                    self.task.0.incidents.record_exhaustion(&failure, &error);
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        // Release the port before the proxy counts as closed.
        drop(self.listener);
    }

    fn received(&self, peer: SocketAddr) -> Arc<ReceivedBytes> {
        // A listening socket always has an address.
        let port = self.listener.local_addr().map_or(0, |ours| ours.port());
        let state = &self.task.0;
        let ports = (port, peer.port());
        state
            .freeze_monitor
            .add_connection(self.worker, self.node, ports, state.clock.now_ns())
    }
}

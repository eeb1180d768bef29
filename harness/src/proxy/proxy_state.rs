//! The state of a proxy that outlives its connections, and the registry of its links.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use picklock_scenarios::Direction;
use tokio::sync::{Notify, watch};

use super::LinkId;
use super::freeze_monitor::FreezeMonitor;
use super::incidents::ProxyIncidents;
use super::interceptor::Interceptor;
use super::link::ServerLink;
use super::lock;
use crate::clock::Clock;
use crate::proxy::command_log::acquire_detection::EffectQueries;
use crate::proxy::command_log::current_operation::CurrentOperation;
use crate::proxy::command_log::log::CommandLog;
use crate::proxy::command_log::sent_requests::SentRequests;
use crate::proxy::faults::fault_rules::FaultRules;
use crate::proxy::faults::imposed_faults::ImposedFaults;
use crate::proxy::resp::command::Keys;
use crate::proxy::resp::frame_budget::FrameBudget;
use crate::rng;

/// State that all links and connections of a proxy share.
pub(super) struct ProxyState {
    pub clock: Clock,
    pub keys: Keys,
    pub interceptor: Arc<dyn Interceptor>,
    pub log: CommandLog,
    pub seed: u64,
    pub faults: Arc<ImposedFaults>,
    pub frame_budget: FrameBudget,
    pub freeze_monitor: FreezeMonitor,
    pub incidents: ProxyIncidents,
    pub effect_queries: EffectQueries,
    pub registry: Mutex<Registry>,
    /// The requests that were sent; empty if requests are not matched with the servers' reports.
    pub sent: OnceLock<SentRequests>,
    /// The servers' password, if they require one.
    pub password: OnceLock<String>,
    /// Whether the proxy is closed.
    pub closed: watch::Sender<bool>,
    /// Notified when a listener or connection ends.
    pub ended: Notify,
}

/// The links and connections of a proxy.
#[derive(Default)]
pub(super) struct Registry {
    /// The address that each link leads to, or `None` while its server is gone.
    pub upstreams: HashMap<ServerLink, Option<SocketAddr>>,
    pub operations: HashMap<usize, Arc<CurrentOperation>>,
    pub connections: BTreeMap<u64, Connection>,
    /// Number of further tasks that must end before the proxy counts as closed.
    pub tasks: usize,
    next_conn: u64,
}

/// An open connection.
pub(super) struct Connection {
    pub link: LinkId,
    /// Notified when the connection must be cut.
    pub cut: Arc<Notify>,
}

impl ProxyState {
    pub(super) fn registry(&self) -> MutexGuard<'_, Registry> {
        lock(&self.registry)
    }

    pub(super) fn current_operation(&self, worker: usize) -> Arc<CurrentOperation> {
        Arc::clone(self.registry().operations.entry(worker).or_default())
    }

    pub(super) fn upstream(&self, server_link: ServerLink) -> Option<SocketAddr> {
        *self.registry().upstreams.get(&server_link)?
    }

    pub(super) fn cut_notice(&self, conn: u64) -> Arc<Notify> {
        let registry = self.registry();
        let connection = registry.connections.get(&conn);
        connection.map_or_else(Arc::default, |connection| Arc::clone(&connection.cut))
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
        let seed = rng::derive(self.seed, stream, conn);
        self.faults.rules(link, conn, direction, seed)
    }

    /// Registers a task. The proxy counts as closed only after the guard is dropped.
    pub(super) fn register_task(self: &Arc<Self>) -> io::Result<TaskGuard> {
        let mut registry = self.registry();
        self.must_be_open()?;
        registry.tasks += 1;
        Ok(TaskGuard(Arc::clone(self)))
    }

    /// Returns an error if the proxy is closed.
    pub(super) fn must_be_open(&self) -> io::Result<()> {
        if *self.closed.borrow() {
            return Err(io::Error::other("the proxy is closed"));
        }
        Ok(())
    }

    /// Registers a connection, and gives it a number.
    pub(super) fn add_connection(self: &Arc<Self>, link: LinkId) -> ConnectionGuard {
        let mut registry = self.registry();
        let conn = registry.next_conn;
        registry.next_conn += 1;
        let cut = Arc::default();
        registry.connections.insert(conn, Connection { link, cut });
        ConnectionGuard {
            state: Arc::clone(self),
            conn,
        }
    }
}

/// Counts a task until this guard is dropped. The proxy does not count as closed before that.
pub(super) struct TaskGuard(pub Arc<ProxyState>);

impl TaskGuard {
    /// Waits until the closing of the proxy begins.
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

/// Removes a connection from the registry when the connection has ended, for whatever reason.
pub(super) struct ConnectionGuard {
    pub state: Arc<ProxyState>,
    pub conn: u64,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.state.registry().connections.remove(&self.conn);
        self.state.ended.notify_waiters();
    }
}

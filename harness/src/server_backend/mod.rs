//! The server backends, which combine Redis servers, the proxy and worker processes. There is one file for each trait
//! of a backend.
//!
//! - the traits: `workers`, `links`, `nodes`, `replication`, `sentinels`, `clocks`, `data`, `probe`, `liveness`
//! - the key history: `key_history` has one `key_observer` per node, which reads a `report_connection` up to its
//!   `marks`; `stored_keys` reads all keys at once
//! - stalls and deaths without a fault: `heartbeat` for servers, `worker_watch` for workers, and `liveness_monitor`,
//!   which collects them
//! - `resource_exhaustion`: errors that this process causes because it lacks a resource

mod clocks;
mod data;
mod heartbeat;
mod key_history;
mod key_observer;
mod links;
mod liveness;
mod liveness_monitor;
mod marks;
mod nodes;
mod probe;
mod replication;
mod report_connection;
mod resource_exhaustion;
mod sentinels;
mod stored_keys;
mod worker_watch;
mod workers;

pub use workers::ProcessSession;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;

use futures_util::future::join_all;
use picklock_scenarios::{BackendName, Capability, Phase, TaskScope, Workload};
use tokio::time::timeout;

use self::data::Administrator;
use self::key_observer::ObservedNode;
use self::liveness_monitor::{LivenessMonitor, Watched};
use self::sentinels::NO_SENTINELS;
use crate::adapter::control::{self, WorkerControl};
use crate::adapter::shared_process::{SharedProcess, Unblocked};
use crate::adapter::worker_command::WorkerCommand;
use crate::backend::{Backend, Capabilities, Refusal};
use crate::clock::Clock;
use crate::external_servers::SharedServers;
use crate::history::KeyHistoryCheck;
use crate::proxy::{LinkId, Proxy, ProxyIncident, SentinelAddresses};
use crate::servers::{
    BackendError, Reaper, Registration, ServerAddress, Servers, ShiftedWallClock, WallClockShim,
    WorkerContainer, WorkerContainers, master_name,
};

/// How many times to yield to an aborted task so that it can end.
const YIELDS: usize = 1000;

/// A worker process that is running.
struct RunningWorker {
    control: WorkerControl,
    /// The worker's container, if it runs in one. `control` then controls the process that carries the container's
    /// streams.
    container: Option<WorkerContainer>,
    // The registrations are dropped once the processes are gone. Until then, the reaper must be able to kill the
    // processes.
    _registrations: [Registration; 2],
}

/// The latest operation that was requested from each client of a process, and its phase.
type ClientPhases = BTreeMap<usize, (u64, Phase)>;

/// Redis servers, the proxy, and worker processes.
pub struct ServerBackend {
    parts: Parts,
    /// The servers, or `None` once they have been stopped.
    servers: RefCell<Option<Rc<Servers>>>,
    containers: RefCell<Option<Rc<WorkerContainers>>>,
    /// Running workers by process: see [`ServerBackend::process_of`].
    workers: RefCell<HashMap<usize, RunningWorker>>,
    /// Processes whose protocol stream several clients share.
    shared_processes: RefCell<HashMap<usize, Rc<SharedProcess>>>,
    /// One mutex per shared process, so that it is started only once.
    starting: RefCell<HashMap<usize, Rc<tokio::sync::Mutex<()>>>>,
    /// Blocked tasks, each with a future that completes when the task is no longer blocked.
    blocked: RefCell<HashMap<(usize, TaskScope), Unblocked>>,
    /// The phases of the clients of each process with shared connections.
    phases: RefCell<HashMap<usize, ClientPhases>>,
    /// Address of the promoted replica, by node.
    promoted: RefCell<HashMap<usize, ServerAddress>>,
    /// Number of the last failover that a fault requested from the Sentinels, by node.
    requested_failovers: RefCell<HashMap<usize, u64>>,
    /// URLs of each worker's links. A restarted worker gets the same URLs.
    urls: RefCell<HashMap<usize, Vec<String>>>,
    /// Nodes whose replication link was cut.
    unreplicated: RefCell<HashSet<usize>>,
    /// Wall clocks of the workers whose clocks can be shifted.
    worker_clocks: RefCell<HashMap<usize, Rc<ShiftedWallClock>>>,
    /// The connection to the stock server, once it is open.
    store: RefCell<Option<redis::aio::MultiplexedConnection>>,
    administrator: Administrator,
    /// The observer of each node. Empty before [`ServerBackend::observe`].
    observers: RefCell<Vec<Rc<ObservedNode>>>,
    /// Reason why the servers are not observed, or `None` if they are.
    unobserved_reason: RefCell<Option<String>>,
    /// How much of the key history was confirmed, or `None` before the key history was taken.
    key_history_check: Cell<Option<KeyHistoryCheck>>,
    liveness: LivenessMonitor,
}

/// The parts of a server backend besides the servers.
pub struct Parts {
    /// Name of the backend.
    pub name: BackendName,
    /// Number of independent nodes.
    pub nodes: usize,
    /// The workload, which determines the clients that share a process.
    pub workload: Workload,
    /// Whether faults block the workers' own tasks.
    pub blocks_tasks: bool,
    /// The proxy, with the run's clock and triggers.
    pub proxy: Proxy,
    /// The run's clock.
    pub clock: Clock,
    /// The command that starts a worker.
    pub command: WorkerCommand,
    /// Directory for the workers' logs.
    pub logs: PathBuf,
    /// The clean-up helper.
    pub reaper: Reaper,
    /// Data that distinguishes the run from others on the same servers, or `None` if the servers belong to this run.
    pub shared: Option<Rc<SharedServers>>,
    /// The library that shifts the workers' wall clocks, if the run needs it and this machine supports it.
    pub clock_shim: Option<WallClockShim>,
}

impl ServerBackend {
    /// Creates a backend with started servers. Workers run in `containers`, or as processes of this machine if it is
    /// `None`.
    pub fn new(servers: Servers, containers: Option<WorkerContainers>, parts: Parts) -> Self {
        parts.proxy.log_in(&servers.password().text());
        ServerBackend {
            parts,
            servers: RefCell::new(Some(Rc::new(servers))),
            containers: RefCell::new(containers.map(Rc::new)),
            workers: RefCell::default(),
            shared_processes: RefCell::default(),
            starting: RefCell::default(),
            blocked: RefCell::default(),
            phases: RefCell::default(),
            promoted: RefCell::default(),
            requested_failovers: RefCell::default(),
            urls: RefCell::default(),
            unreplicated: RefCell::default(),
            worker_clocks: RefCell::default(),
            store: RefCell::default(),
            administrator: Administrator::default(),
            observers: RefCell::default(),
            unobserved_reason: RefCell::default(),
            key_history_check: Cell::default(),
            liveness: LivenessMonitor::default(),
        }
    }

    /// Stops workers, proxy and servers.
    ///
    /// # Errors
    /// Returns an error if a server cannot be stopped. Everything else is stopped anyway.
    pub async fn take_down(&self) -> Result<(), BackendError> {
        self.end_workers().await;
        if let Some(containers) = self.containers.take().and_then(Rc::into_inner) {
            containers.end().await;
        }
        self.parts.proxy.close().await;
        let Some(mut servers) = self.servers.take() else {
            return Ok(());
        };
        // A fault that was aborted at the end of the run releases the servers only when the runtime next polls it.
        for _ in 0..YIELDS {
            match Rc::try_unwrap(servers) {
                Ok(alone) => return alone.stop().await,
                Err(shared) => servers = shared,
            }
            tokio::task::yield_now().await;
        }
        Err(BackendError::Io {
            doing: "stop the servers".into(),
            source: std::io::Error::other("they are still in use; the reaper will stop them"),
        })
    }

    fn servers(&self) -> Result<Rc<Servers>, Refusal> {
        let servers = self.servers.borrow().clone();
        servers.ok_or_else(|| Refusal::Failed("the servers have been stopped".into()))
    }

    /// Returns the masters of the Redis Cluster with their addresses on loopback, or an empty list if there is no
    /// Cluster. A Cluster counts as the only node.
    fn cluster(&self) -> Result<Vec<(String, SocketAddr)>, Refusal> {
        let servers = self.servers()?;
        let names = self.parts.shared.iter().flat_map(|shared| &shared.cluster);
        let with_address =
            |(number, name): (usize, &String)| (name.clone(), servers.address(number).socket());
        Ok(names.enumerate().map(with_address).collect())
    }

    /// Returns the number of servers to group.
    fn watched_servers(&self) -> usize {
        let shared = self.parts.shared.as_ref();
        let cluster = shared.map_or(0, |shared| shared.cluster.len());
        self.parts.nodes.max(cluster)
    }

    /// Returns the current address of the node's master.
    fn address(&self, node: usize) -> Result<ServerAddress, Refusal> {
        match self.promoted.borrow().get(&node) {
            Some(promoted) => Ok(*promoted),
            None => Ok(self.servers()?.address(node)),
        }
    }

    /// Opens the worker's links. Returns the URLs under which it reaches the nodes.
    async fn open_links(&self, worker: usize) -> Result<Vec<String>, Refusal> {
        let (servers, proxy) = (self.servers()?, &self.parts.proxy);
        let cluster = self.cluster()?;
        if !cluster.is_empty() {
            let link = LinkId { worker, node: 0 };
            let opened = proxy.open_cluster(link, &cluster).await;
            let links = opened.map_err(failed)?;
            let links: Vec<String> = links.iter().map(ToString::to_string).collect();
            return Ok(vec![format!("redis+cluster://{}", links.join(","))]);
        }
        let mut book = Vec::new();
        let mut urls = Vec::new();
        for node in 0..self.parts.nodes {
            let link = LinkId { worker, node };
            // With Sentinels, workers get the address of the master from them, so the first link leads to the first
            // server.
            let upstream = match servers.sentinel_group() {
                Some(_) => servers.address(node),
                None => self.address(node)?,
            };
            let announced = self.parts.shared.as_ref().and_then(|it| it.nodes.get(node));
            let opened = match announced {
                // An external server may announce the addresses of other servers. The client must not connect to them
                // without the proxy.
                Some(announced) => {
                    let known = [(announced.clone(), upstream.socket())];
                    let links = proxy.open_cluster(link, &known).await;
                    links.map(|links| links.into_iter().next())
                }
                None => proxy.open(link, upstream.socket()).await.map(Some),
            };
            let address = opened.map_err(failed)?.ok_or_else(|| failed("no link"))?;
            urls.push(format!("redis://{address}"));
            let Some(group) = servers.sentinel_group() else {
                continue;
            };
            let mut links = vec![address];
            for replica in 1..group.servers(node).len() {
                let upstream = servers.replica_address(node, replica - 1);
                let opened = proxy.open_server(link, replica, upstream.socket()).await;
                links.push(opened.map_err(failed)?);
            }
            book.extend(group.servers(node).iter().copied().zip(links));
        }
        let Some(group) = servers.sentinel_group() else {
            return Ok(urls);
        };
        let sentinels = group.listening().iter().zip(group.announced());
        let sentinels: Vec<SentinelAddresses> = sentinels
            .map(|(listening, announced)| SentinelAddresses {
                listening: listening.socket(),
                announced: *announced,
            })
            .collect();
        let opened = proxy.open_sentinels(worker, &sentinels, &book).await;
        let hosts = opened.map_err(failed)?;
        let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let url = |node| format!("redis+sentinel://{}/{}", hosts.join(","), master_name(node));
        Ok((0..self.parts.nodes).map(url).collect())
    }

    /// Kills all workers with all their descendants. If the future is cancelled, the workers remain registered.
    async fn end_workers(&self) {
        let running: BTreeSet<usize> = self.workers.borrow().keys().copied().collect();
        // Mark the workers as stopped before they are killed, so that their death is not reported.
        for worker in &running {
            self.liveness.stop(Watched::Worker(*worker));
        }
        let (controls, containers): (Vec<_>, Vec<_>) = running
            .iter()
            .filter_map(|worker| self.running(*worker).ok())
            .unzip();
        // If a container cannot be removed now, its removal is repeated when the backend is taken down, and by the
        // reaper.
        join_all(containers.iter().flatten().map(WorkerContainer::remove)).await;
        WorkerControl::kill_all(&controls).await;
        let ends = controls.iter().map(WorkerControl::exited);
        // A process that has not exited by then is held by the kernel or a tracer.
        let _ = timeout(control::END_WITHIN, join_all(ends)).await;
        for (worker, control) in running.iter().zip(&controls) {
            self.check_has_ended(*worker, control);
        }
        let mut workers = self.workers.borrow_mut();
        workers.retain(|worker, _| !running.contains(worker));
    }

    /// Records an incident if a killed worker is still running.
    fn check_has_ended(&self, worker: usize, control: &WorkerControl) {
        if !control.has_ended() {
            let incident = format!("client {worker} {}", control::STILL_THERE);
            self.parts.proxy.record_incident(incident);
        }
    }

    fn running(&self, worker: usize) -> Result<(WorkerControl, Option<WorkerContainer>), Refusal> {
        let workers = self.workers.borrow();
        let running = workers
            .get(&worker)
            .map(|it| (it.control.clone(), it.container.clone()));
        running.ok_or_else(|| Refusal::Failed(format!("client {worker} is not running")))
    }

    /// Returns the worker's wall clock, or `None` if it cannot be shifted.
    fn wall_clock(&self, worker: usize) -> Result<Option<Rc<ShiftedWallClock>>, Refusal> {
        let Some(shim) = &self.parts.clock_shim else {
            return Ok(None);
        };
        let mut clocks = self.worker_clocks.borrow_mut();
        if let Some(wall_clock) = clocks.get(&worker) {
            return Ok(Some(Rc::clone(wall_clock)));
        }
        let wall_clock = Rc::new(shim.clock(&format!("worker-{worker}")).map_err(failed)?);
        clocks.insert(worker, Rc::clone(&wall_clock));
        Ok(Some(wall_clock))
    }
}

impl Backend for ServerBackend {
    fn name(&self) -> BackendName {
        self.parts.name
    }

    async fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::for_backend(self.parts.name);
        let Ok(servers) = self.servers() else {
            return capabilities;
        };
        if servers.sentinel_group().is_none() {
            capabilities.lacks(Capability::Sentinels, NO_SENTINELS);
        }
        if let Some(reason) = self.why_worker_clocks_are_fixed() {
            capabilities.lacks(Capability::WorkerClocks, reason);
        }
        if let Some(reason) = self.why_node_clocks_are_fixed().await {
            capabilities.lacks(Capability::NodeClocks, reason);
        }
        capabilities
    }

    fn take_incidents(&self) -> Vec<ProxyIncident> {
        self.parts.proxy.take_incidents()
    }
}

fn failed(error: impl std::fmt::Display) -> Refusal {
    Refusal::Failed(error.to_string())
}

fn refused(server: ServerAddress, error: &redis::RedisError) -> Refusal {
    Refusal::Failed(format!("the server at {server}: {error}"))
}

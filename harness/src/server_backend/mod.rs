//! The server backends: Redis servers, the proxy and worker processes, put together. There is one file
//! for each trait of a backend.

mod clocks;
mod data;
mod heartbeat;
mod key_history;
mod key_observer;
mod links;
mod liveness;
mod liveness_monitor;
mod nodes;
mod probe;
mod replication;
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

/// How many times an aborted task is given a chance to end.
const YIELDS: usize = 1000;

/// A worker process that is running.
struct RunningWorker {
    control: WorkerControl,
    /// Its container, if it lives in one. `control` then is that of what carries its streams.
    container: Option<WorkerContainer>,
    // Dropped when the processes are gone: only then may the reaper forget them.
    _registrations: [Registration; 2],
}

/// What each client of a process was asked for last, and in which attempt.
type AskedPhases = BTreeMap<usize, (u64, Phase)>;

/// Redis servers, the proxy, and worker processes.
pub struct ServerBackend {
    parts: Parts,
    /// `None` after they were taken down.
    servers: RefCell<Option<Rc<Servers>>>,
    containers: RefCell<Option<Rc<WorkerContainers>>>,
    /// By process: see [`ServerBackend::process_of`].
    workers: RefCell<HashMap<usize, RunningWorker>>,
    /// The processes whose line several clients share.
    shared_processes: RefCell<HashMap<usize, Rc<SharedProcess>>>,
    /// Whose turn it is to start each of them.
    starting: RefCell<HashMap<usize, Rc<tokio::sync::Mutex<()>>>>,
    /// What is blocked, and what tells the end of that.
    blocked: RefCell<HashMap<(usize, TaskScope), Unblocked>>,
    /// What each client of a process was asked for last, where they share connections.
    phases: RefCell<HashMap<usize, AskedPhases>>,
    /// Nodes whose replica was promoted, and where it listens.
    promoted: RefCell<HashMap<usize, ServerAddress>>,
    /// Of the nodes that Sentinels have failed over as a fault asked: the number of that failover.
    asked_failovers: RefCell<HashMap<usize, u64>>,
    /// The URLs of each worker's links: a restarted worker gets the same.
    urls: RefCell<HashMap<usize, Vec<String>>>,
    /// Nodes whose replication link was cut.
    unreplicated: RefCell<HashSet<usize>>,
    /// The workers' wall clocks, if they can be shifted.
    worker_clocks: RefCell<HashMap<usize, Rc<ShiftedWallClock>>>,
    /// The connection to the store, once it is open.
    store: RefCell<Option<redis::aio::MultiplexedConnection>>,
    administrator: Administrator,
    /// Who listens to each node's servers; empty before [`ServerBackend::observe`].
    observed: RefCell<Vec<Rc<ObservedNode>>>,
    /// Why nobody listens to the servers, where they do not allow it.
    unobserved: RefCell<Option<String>>,
    /// What the look at the keys has confirmed, once the key history was taken.
    look: Cell<Option<KeyHistoryCheck>>,
    life: LivenessMonitor,
}

/// What a server backend works with beside the servers.
pub struct Parts {
    /// Which backend it is.
    pub name: BackendName,
    /// How many independent nodes there are.
    pub nodes: usize,
    /// Which clients share a process.
    pub workload: Workload,
    /// Workers are to block their own tasks.
    pub blocks_tasks: bool,
    /// The proxy, with the run's clock and watcher.
    pub proxy: Proxy,
    /// The run's clock.
    pub clock: Clock,
    /// What starts each worker.
    pub command: WorkerCommand,
    /// Where workers' logs go.
    pub logs: PathBuf,
    /// The helper that cleans up.
    pub reaper: Reaper,
    /// How the run is told from others at the same servers; `None`: there are no others.
    pub shared: Option<Rc<SharedServers>>,
    /// The library that shifts the workers' wall clocks, if the run needs it and this machine
    /// supports it.
    pub clock_shim: Option<WallClockShim>,
}

impl ServerBackend {
    /// Over these servers, which are started. `containers`: where workers in containers come from; `None`:
    /// they are processes of this machine.
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
            asked_failovers: RefCell::default(),
            urls: RefCell::default(),
            unreplicated: RefCell::default(),
            worker_clocks: RefCell::default(),
            store: RefCell::default(),
            administrator: Administrator::default(),
            observed: RefCell::default(),
            unobserved: RefCell::default(),
            look: Cell::default(),
            life: LivenessMonitor::default(),
        }
    }

    /// Ends workers, wire and servers.
    ///
    /// # Errors
    /// A server could not be ended. Everything else is ended nevertheless.
    pub async fn take_down(&self) -> Result<(), BackendError> {
        self.end_workers().await;
        if let Some(containers) = self.containers.take().and_then(Rc::into_inner) {
            containers.end().await;
        }
        self.parts.proxy.close().await;
        let Some(mut servers) = self.servers.take() else {
            return Ok(());
        };
        // A fault that was aborted at the end of the run releases the servers only when the runtime
        // next polls it.
        for _ in 0..YIELDS {
            match Rc::try_unwrap(servers) {
                Ok(alone) => return alone.stop().await,
                Err(shared) => servers = shared,
            }
            tokio::task::yield_now().await;
        }
        Err(BackendError::Down(
            "the servers are still in use; the reaper ends them".into(),
        ))
    }

    fn servers(&self) -> Result<Rc<Servers>, Refusal> {
        let servers = self.servers.borrow().clone();
        servers.ok_or_else(|| Refusal::Failed("the servers are taken down".into()))
    }

    /// The masters of the Redis Cluster that is the only node, with their places on loopback; empty: there is none.
    fn cluster(&self) -> Result<Vec<(String, SocketAddr)>, Refusal> {
        let servers = self.servers()?;
        let names = self.parts.shared.iter().flat_map(|shared| &shared.cluster);
        let masters = names.enumerate();
        let master =
            |(number, name): (usize, &String)| (name.clone(), servers.address(number).socket());
        Ok(masters.map(master).collect())
    }

    /// How many servers are watched.
    fn watched(&self) -> usize {
        let shared = self.parts.shared.as_ref();
        let cluster = shared.map_or(0, |shared| shared.cluster.len());
        self.parts.nodes.max(cluster)
    }

    /// Where the node's master listens now.
    fn address(&self, node: usize) -> Result<ServerAddress, Refusal> {
        match self.promoted.borrow().get(&node) {
            Some(promoted) => Ok(*promoted),
            None => Ok(self.servers()?.address(node)),
        }
    }

    /// Opens the worker's links, and returns the URLs of the nodes for it.
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
            // Workers ask the Sentinels for the master: the first link leads to the first server.
            let upstream = match servers.watch() {
                Some(_) => servers.address(node),
                None => self.address(node)?,
            };
            let opened = proxy.open(link, upstream.socket()).await;
            let address = opened.map_err(failed)?;
            urls.push(format!("redis://{address}"));
            let Some(watch) = servers.watch() else {
                continue;
            };
            let mut links = vec![address];
            for replica in 1..watch.servers(node).len() {
                let upstream = servers.replica_address(node, replica - 1);
                let opened = proxy.open_server(link, replica, upstream.socket()).await;
                links.push(opened.map_err(failed)?);
            }
            book.extend(watch.servers(node).iter().copied().zip(links));
        }
        let Some(watch) = servers.watch() else {
            return Ok(urls);
        };
        let sentinels = watch.listening().iter().zip(watch.announced());
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

    /// Kills all workers, with all that they started. Where it is cancelled, they are still known.
    async fn end_workers(&self) {
        let running: BTreeSet<usize> = self.workers.borrow().keys().copied().collect();
        // To be killed, they are stopped.
        for worker in &running {
            self.life.stop(Watched::Worker(*worker));
        }
        let (controls, containers): (Vec<_>, Vec<_>) = running
            .iter()
            .filter_map(|worker| self.running(*worker).ok())
            .unzip();
        let contained = containers.iter().flatten();
        // One that cannot be removed now is tried again when the backend is taken down, and by the reaper.
        join_all(contained.map(WorkerContainer::remove)).await;
        WorkerControl::kill_all(&controls).await;
        let ends = controls.iter().map(WorkerControl::exited);
        // Whoever was killed ends at once, if at all.
        let _ = timeout(control::END_WITHIN, join_all(ends)).await;
        for (worker, control) in running.iter().zip(&controls) {
            self.must_have_ended(*worker, control);
        }
        let mut workers = self.workers.borrow_mut();
        workers.retain(|worker, _| !running.contains(worker));
    }

    /// A worker that was killed and does not end is not waited for, and told.
    fn must_have_ended(&self, worker: usize, control: &WorkerControl) {
        if !control.has_ended() {
            let sentence = format!("worker {worker} {}", control::STILL_THERE);
            self.parts.proxy.record_incident(sentence);
        }
    }

    fn running(&self, worker: usize) -> Result<(WorkerControl, Option<WorkerContainer>), Refusal> {
        let workers = self.workers.borrow();
        let running = workers.get(&worker);
        let running = running.map(|it| (it.control.clone(), it.container.clone()));
        running.ok_or_else(|| Refusal::Failed(format!("worker {worker} does not run")))
    }

    /// The worker's wall clock; `None` if it cannot be shifted.
    fn wall_clock(&self, worker: usize) -> Result<Option<Rc<ShiftedWallClock>>, Refusal> {
        let Some(shim) = &self.parts.clock_shim else {
            return Ok(None);
        };
        let mut clocks = self.worker_clocks.borrow_mut();
        if let Some(wall_clock) = clocks.get(&worker) {
            return Ok(Some(Rc::clone(wall_clock)));
        }
        let wall_clock = shim.clock(&format!("worker-{worker}")).map_err(failed)?;
        let wall_clock = Rc::new(wall_clock);
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
        if servers.watch().is_none() {
            capabilities.lacks(Capability::Sentinels, NO_SENTINELS);
        }
        if let Some(why) = self.why_worker_clocks_are_fixed() {
            capabilities.lacks(Capability::WorkerClocks, why);
        }
        if let Some(why) = self.why_node_clocks_are_fixed().await {
            capabilities.lacks(Capability::NodeClocks, why);
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

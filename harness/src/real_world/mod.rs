//! The real worlds: Redis servers, the wire and worker processes, put together. One file for each
//! thing that a world is made of.

mod clocks;
mod data;
mod links;
mod nodes;
mod probe;
mod replication;
mod sentinels;
mod workers;

pub use workers::ProcessSession;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;

use picklock_scenarios::{Capability, WorldName};

use self::data::Administrator;
use self::sentinels::NO_SENTINELS;
use crate::adapter::control::WorkerControl;
use crate::real::{
    RealServers, Reaper, Registration, Servers, ShiftedWall, WallShim, WorldError, master_name,
};
use crate::wire::{LinkId, SentinelAddresses, Wire};
use crate::world::{Capabilities, Refusal, World};

/// How often an aborted task gets the chance to end.
const YIELDS: usize = 1000;

/// A worker process that is running.
struct RunningWorker {
    control: WorkerControl,
    // Dropped when the process is gone: only then may the reaper forget it.
    _registration: Registration,
}

/// Redis servers, the wire, and worker processes.
pub struct RealWorld {
    name: WorldName,
    servers: RefCell<Option<Rc<RealServers>>>,
    nodes: usize,
    wire: Wire,
    argv: Vec<String>,
    logs: PathBuf,
    reaper: Reaper,
    workers: RefCell<HashMap<usize, RunningWorker>>,
    /// Nodes whose replica was promoted, and where it listens.
    promoted: RefCell<HashMap<usize, SocketAddr>>,
    /// The URLs of each worker's links: a worker that is started again finds the same.
    urls: RefCell<HashMap<usize, Vec<String>>>,
    /// Nodes whose replication link was cut.
    unreplicated: RefCell<HashSet<usize>>,
    walls: Option<WallShim>,
    /// The workers' wall clocks, where they are to be shifted.
    worker_walls: RefCell<HashMap<usize, Rc<ShiftedWall>>>,
    /// The connection to the store, once there is one.
    store: RefCell<Option<redis::aio::MultiplexedConnection>>,
    administrator: Administrator,
}

/// What a real world is made of.
pub struct Parts {
    /// Which world it is.
    pub name: WorldName,
    /// The servers, started.
    pub servers: RealServers,
    /// How many independent nodes there are.
    pub nodes: usize,
    /// The wire, with the run's clock and watcher.
    pub wire: Wire,
    /// What each worker runs.
    pub argv: Vec<String>,
    /// Where workers' logs go.
    pub logs: PathBuf,
    /// Who cleans up after us.
    pub reaper: Reaper,
    /// Where the workers' wall clocks are to be shifted, and can be.
    pub walls: Option<WallShim>,
}

impl RealWorld {
    /// Puts the parts together.
    pub fn new(parts: Parts) -> Self {
        RealWorld {
            name: parts.name,
            servers: RefCell::new(Some(Rc::new(parts.servers))),
            nodes: parts.nodes,
            wire: parts.wire,
            argv: parts.argv,
            logs: parts.logs,
            reaper: parts.reaper,
            workers: RefCell::default(),
            promoted: RefCell::default(),
            urls: RefCell::default(),
            unreplicated: RefCell::default(),
            walls: parts.walls,
            worker_walls: RefCell::default(),
            store: RefCell::default(),
            administrator: Administrator::default(),
        }
    }

    /// Ends workers, wire and servers.
    ///
    /// # Errors
    /// A server that could not be ended; everything else is ended all the same.
    pub async fn take_down(&self) -> Result<(), WorldError> {
        let running: Vec<RunningWorker> = self.workers.take().into_values().collect();
        for worker in running {
            // Gone already is as good as killed.
            worker.control.kill().await;
        }
        self.wire.close().await;
        let Some(mut servers) = self.servers.take() else {
            return Ok(());
        };
        // A strike that was given up when the run ended lets go of the servers when the runtime
        // next looks at it.
        for _ in 0..YIELDS {
            match Rc::try_unwrap(servers) {
                Ok(alone) => return alone.stop().await,
                Err(shared) => servers = shared,
            }
            tokio::task::yield_now().await;
        }
        Err(WorldError::Down(
            "the servers are still in use; the reaper ends them".into(),
        ))
    }

    fn servers(&self) -> Result<Rc<RealServers>, Refusal> {
        let servers = self.servers.borrow().clone();
        servers.ok_or_else(|| Refusal::Failed("the servers are taken down".into()))
    }

    /// Where the node's master listens now.
    fn address(&self, node: usize) -> Result<SocketAddr, Refusal> {
        match self.promoted.borrow().get(&node) {
            Some(promoted) => Ok(*promoted),
            None => Ok(self.servers()?.address(node)),
        }
    }

    /// Opens the worker's links, and says under which URLs it finds the nodes.
    async fn open_links(&self, worker: usize) -> Result<Vec<String>, Refusal> {
        let servers = self.servers()?;
        let mut book = Vec::new();
        let mut urls = Vec::new();
        for node in 0..self.nodes {
            let link = LinkId { worker, node };
            // Workers ask the Sentinels who is master: the first link leads to the first server.
            let upstream = match servers.watch() {
                Some(_) => servers.address(node),
                None => self.address(node)?,
            };
            let address = self.wire.open(link, upstream).await.map_err(failed)?;
            urls.push(format!("redis://{address}"));
            let Some(watch) = servers.watch() else {
                continue;
            };
            let mut links = vec![address];
            for replica in 1..watch.servers(node).len() {
                let upstream = servers.replica_address(node, replica - 1);
                let opened = self.wire.open_server(link, replica, upstream).await;
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
                listening: *listening,
                announced: *announced,
            })
            .collect();
        let opened = self.wire.open_sentinels(&sentinels, &book).await;
        let hosts: Vec<String> = opened
            .map_err(failed)?
            .iter()
            .map(ToString::to_string)
            .collect();
        let url = |node| format!("redis+sentinel://{}/{}", hosts.join(","), master_name(node));
        Ok((0..self.nodes).map(url).collect())
    }

    fn control(&self, worker: usize) -> Result<WorkerControl, Refusal> {
        self.workers
            .borrow()
            .get(&worker)
            .map(|running| running.control.clone())
            .ok_or_else(|| Refusal::Failed(format!("worker {worker} does not run")))
    }
}

impl RealWorld {
    /// The worker's wall clock; `None`: it is this machine's, and stays right.
    fn wall(&self, worker: usize) -> Result<Option<Rc<ShiftedWall>>, Refusal> {
        let Some(shim) = &self.walls else {
            return Ok(None);
        };
        let mut walls = self.worker_walls.borrow_mut();
        if let Some(wall) = walls.get(&worker) {
            return Ok(Some(Rc::clone(wall)));
        }
        let wall = shim.clock(&format!("worker-{worker}")).map_err(failed)?;
        let wall = Rc::new(wall);
        walls.insert(worker, Rc::clone(&wall));
        Ok(Some(wall))
    }
}

impl World for RealWorld {
    fn name(&self) -> WorldName {
        self.name
    }

    async fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::of(self.name);
        let Ok(servers) = self.servers() else {
            return capabilities;
        };
        if servers.watch().is_none() {
            capabilities.lacks(Capability::Sentinels, NO_SENTINELS);
        }
        if let Err(error) = servers.can_crash() {
            capabilities.lacks(Capability::CrashNodes, error.to_string());
        }
        if let Some(why) = self.why_worker_clocks_are_fixed() {
            capabilities.lacks(Capability::WorkerClocks, why);
        }
        if let Some(why) = self.why_node_clocks_are_fixed().await {
            capabilities.lacks(Capability::NodeClocks, why);
        }
        capabilities
    }
}

fn failed(error: impl std::fmt::Display) -> Refusal {
    Refusal::Failed(error.to_string())
}

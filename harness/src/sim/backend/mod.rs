//! A backend made of simulated hosts, a network and nodes. Each file implements one group of the backend traits.

mod links;
mod nodes;
mod probe;
mod workers;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use picklock_impls::{Canceller, Context, DynLock, Node as Connection};
use picklock_scenarios::{BackendName, StockPlace, TaskScope, Workload};
use rand::rngs::StdRng;

use crate::adapter::message::Init;
use crate::backend::{Backend, Capabilities, Liveness, Refusal, Sentinels};
use crate::clock::Clock;
use crate::key_watch::KeyWatch;
use crate::lock_factory::LockFactory;
use crate::proxy::{CommandLog, Interceptor, LinkId, SentRequests};
use crate::rng;
use crate::sim::connection::SimConnection;
use crate::sim::host::Host;
use crate::sim::network::Network;
use crate::sim::node::Node;
use crate::sim::node_observer::{NodeObservers, ObservedNode};
use crate::sim::run_budget::RunBudget;
use crate::sim::subscription::subscribe;
use crate::sim::wall_clock::SimWallClock;
use crate::sim::watchdog::Watchdog;
use crate::spec::RunSpec;

pub(in crate::sim) struct Parts<'a> {
    pub(in crate::sim) spec: &'a RunSpec,
    pub(in crate::sim) lock: LockFactory,
    pub(in crate::sim) run_clock: Clock,
    pub(in crate::sim) interceptor: Arc<dyn Interceptor>,
    pub(in crate::sim) log: Option<CommandLog>,
    pub(in crate::sim) watchdog: Watchdog,
    /// Creates the observers of the nodes. `None` if the run is not observed.
    pub(in crate::sim) observers: Option<NodeObservers>,
    pub(in crate::sim) budget: Rc<RunBudget>,
}

/// The simulated backend. The caller must run [`SimBackend::network`] in a task.
pub struct SimBackend {
    lock: LockFactory,
    /// Determines which clients share a process.
    workload: Workload,
    nodes: usize,
    clock: Clock,
    watchdog: Watchdog,
    network: Rc<Network>,
    budget: Rc<RunBudget>,
    hosts: RefCell<BTreeMap<usize, Host>>,
    /// Random numbers that decide which of a worker's tasks runs first after a freeze.
    wakings: RefCell<StdRng>,
    walls: RefCell<BTreeMap<usize, SimWallClock>>,
}

impl SimBackend {
    pub(in crate::sim) fn new(parts: Parts<'_>) -> Self {
        let clock = Clock::start();
        let (spec, observers) = (parts.spec, parts.observers);
        let (topology, nodes) = (&spec.scenario.topology, spec.nodes());
        let locks: Rc<[String]> = spec.keys().into();
        let sent = observers.is_some().then(Rc::<SentRequests>::default);
        let node = |number: usize| {
            let (replicas, persistence) = (topology.replicas, topology.persistence);
            let mut node = Node::new(spec.model(), replicas, persistence, &clock);
            // The server that stores the stock has no lock keys.
            if number < nodes {
                node.watch_keys(KeyWatch::new(Rc::clone(&locks)));
                if let (Some(sent), Some(observers)) = (&sent, &observers) {
                    node.be_observed(observers(ObservedNode {
                        number,
                        servers: 1 + usize::from(replicas > 0),
                        version: spec.model(),
                        locks: Rc::clone(&locks),
                        sent: Rc::clone(sent),
                    }));
                }
            }
            node
        };
        // With `stock_in = "redis"`, a separate server stores the stock.
        let store = usize::from(spec.scenario.workload.stock_in == StockPlace::Redis);
        let wakings = rng::stream(spec.seed, "wakings", 0);
        let network = Network::new(
            spec,
            (0..nodes + store).map(node).collect(),
            parts.interceptor,
            clock.clone(),
            parts.run_clock,
            (parts.log, sent.clone()),
            Rc::clone(&parts.budget),
        );
        SimBackend {
            lock: parts.lock,
            workload: spec.scenario.workload.clone(),
            nodes,
            clock,
            watchdog: parts.watchdog,
            network,
            budget: parts.budget,
            hosts: RefCell::default(),
            wakings: RefCell::new(wakings),
            walls: RefCell::default(),
        }
    }

    pub(in crate::sim) fn network(&self) -> Rc<Network> {
        Rc::clone(&self.network)
    }

    /// Applies `act` to every running client in the worker's process. Returns an error if no client is running.
    fn each_host(&self, worker: usize, act: impl Fn(&Host)) -> Result<(), Refusal> {
        let hosts = self.hosts.borrow();
        let peers = self.workload.process_peers(worker);
        let running = peers.filter_map(|mate| hosts.get(&mate));
        if running.map(act).count() == 0 {
            return Err(Refusal::Failed(format!("client {worker} is not running")));
        }
        Ok(())
    }

    fn block(&self, worker: usize, scope: TaskScope, blocked: bool) -> Result<(), Refusal> {
        match scope {
            TaskScope::Loop => self.each_host(worker, |host| host.block(blocked)),
            TaskScope::Thread => {
                let what = "a simulated client has no separate thread".to_owned();
                let backend = BackendName::Sim;
                Err(Refusal::Unable { backend, what })
            }
        }
    }

    fn wall(&self, worker: usize) -> SimWallClock {
        let mut walls = self.walls.borrow_mut();
        let wall = walls.entry(worker);
        wall.or_insert_with(|| SimWallClock::new(&self.clock))
            .clone()
    }

    fn client(
        &self,
        worker: usize,
        init: &Init,
        canceller: Canceller,
    ) -> Result<Box<dyn DynLock>, String> {
        let nodes = (0..self.nodes).map(|node| {
            let link = LinkId { worker, node };
            let endpoint = self.network.endpoint;
            let (timeout, clock) = (init.timeout(), self.clock.clone());
            let open = move || SimConnection::new(endpoint, link, timeout, clock.clone());
            Connection::opening(open.clone())
                .with_subscriptions(move |channel| Box::pin(subscribe(open(), channel)))
        });
        let options = self.lock.read_options(&init.options);
        let context = Context {
            wall_clock: Rc::new(self.wall(worker)),
            rng: rng::stream(init.seed, "lock", 0),
            options: options.map_err(|error| format!("option {}: {error}", error.name()))?,
            capacity: init.capacity(),
            canceller,
        };
        Ok(self.lock.client(nodes.collect(), context))
    }
}

/// Returns an error if the node is down: like a real server, it then cannot be paused, resumed or killed.
fn must_be_up(it: &Node, node: usize) -> Result<(), Refusal> {
    if it.up {
        return Ok(());
    }
    Err(Refusal::Failed(format!("node {node} is down")))
}

impl Backend for Rc<SimBackend> {
    fn name(&self) -> BackendName {
        BackendName::Sim
    }

    async fn capabilities(&self) -> Capabilities {
        Capabilities::for_backend(BackendName::Sim)
    }
}

/// The simulation declares that it has no Sentinels, so the driver does not call these methods.
impl Sentinels for Rc<SimBackend> {
    async fn promoted_by_sentinels(&self, node: usize) -> Result<String, Refusal> {
        let what = format!("there are no Sentinels that could fail over node {node}");
        Err(Refusal::Failed(what))
    }

    async fn demoted_by_sentinels(&self, _node: usize) {}

    async fn failed_over_spontaneously(&self, _node: usize) -> bool {
        false
    }
}

/// In virtual time, no component stalls or dies without a fault.
impl Liveness for Rc<SimBackend> {}

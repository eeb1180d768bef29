//! Hosts, network and nodes put together as a world.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use picklock_impls::{Context, DynLock, Node as Connection};
use picklock_scenarios::{Persistence, Phase, WorldName};

use super::connection::SimConnection;
use super::host::{Host, HostContext};
use super::network::{Network, Wiring};
use super::node::Node;
use super::turn_monitor::TurnMonitor;
use super::wall_clock::SimWallClock;
use crate::adapter::mailbox::{Reader, Writer, mailbox};
use crate::adapter::message::Request;
use crate::adapter::process::Heard;
use crate::adapter::serve::{Init, answer_messages};
use crate::clock::Clock;
use crate::entropy;
use crate::model::{Reply, ServerVersion};
use crate::subject::Subject;
use crate::wire::{ImposedId, Interceptor, LinkFault, LinkId, WireLog};
use crate::world::{Refusal, Session, Tampering, World};

/// How far away the store is, one way.
const STORE_AWAY: Duration = Duration::from_micros(100);

/// What a simulated world is made of.
pub(super) struct Parts {
    pub(super) subject: Subject,
    pub(super) nodes: usize,
    /// One server more, for the stock.
    pub(super) store: bool,
    pub(super) replicas: usize,
    pub(super) persistence: Persistence,
    pub(super) keys: Vec<String>,
    pub(super) seed: u64,
    pub(super) run_clock: Clock,
    pub(super) interceptor: Arc<dyn Interceptor>,
    pub(super) log: Option<WireLog>,
    pub(super) monitor: TurnMonitor,
}

/// The simulated world. Its network must be carried by a task: [`SimWorld::network`].
pub struct SimWorld {
    subject: Subject,
    nodes: usize,
    clock: Clock,
    monitor: TurnMonitor,
    network: Rc<Network>,
    hosts: RefCell<BTreeMap<usize, Host>>,
    walls: RefCell<BTreeMap<usize, SimWallClock>>,
}

impl SimWorld {
    pub(super) fn new(parts: Parts) -> Self {
        let clock = Clock::start();
        let node = || {
            let version = ServerVersion::default();
            Node::new(version, parts.replicas, parts.persistence, &clock)
        };
        let network = Network::new(Wiring {
            nodes: (0..parts.nodes + usize::from(parts.store))
                .map(|_| node())
                .collect(),
            keys: parts.keys,
            seed: parts.seed,
            interceptor: parts.interceptor,
            clock: clock.clone(),
            run_clock: parts.run_clock,
            log: parts.log,
        });
        SimWorld {
            subject: parts.subject,
            nodes: parts.nodes,
            clock,
            monitor: parts.monitor,
            network,
            hosts: RefCell::default(),
            walls: RefCell::default(),
        }
    }

    pub(super) fn network(&self) -> Rc<Network> {
        Rc::clone(&self.network)
    }

    fn host<T>(&self, worker: usize, act: impl FnOnce(&Host) -> T) -> Result<T, Refusal> {
        let hosts = self.hosts.borrow();
        let host = hosts.get(&worker);
        host.map(act)
            .ok_or_else(|| Refusal::Failed(format!("worker {worker} does not run")))
    }

    /// The wall clock of the worker's machine.
    fn wall(&self, worker: usize) -> SimWallClock {
        let mut walls = self.walls.borrow_mut();
        let wall = walls
            .entry(worker)
            .or_insert_with(|| SimWallClock::new(&self.clock));
        wall.clone()
    }

    fn client(&self, worker: usize, init: &Init) -> Result<Box<dyn DynLock>, String> {
        let nodes = (0..self.nodes).map(|node| {
            let link = LinkId { worker, node };
            let endpoint = self.network.endpoint;
            let (timeout, clock) = (init.timeout, self.clock.clone());
            Connection::opening(move || SimConnection::new(endpoint, link, timeout, clock.clone()))
        });
        let options = self.subject.read_options(&init.options);
        let context = Context {
            wall_clock: Rc::new(self.wall(worker)),
            entropy: entropy::stream(init.seed, "lock", 0),
            options: options.map_err(|error| format!("option {}: {error}", error.name()))?,
        };
        Ok(self.subject.client(nodes.collect(), context))
    }
}

/// The driver's line to a simulated worker.
pub struct SimSession {
    requests: Writer<Request>,
    heard: Reader<Heard>,
}

impl Session for SimSession {
    async fn send(&mut self, request: Request) -> Result<(), Refusal> {
        let sent = self.requests.send(request);
        sent.map_err(|_| Refusal::Failed("the worker is gone".into()))
    }

    async fn next(&mut self) -> Heard {
        match self.heard.next().await {
            Some(heard) => heard,
            None => Heard::Exited("killed".into()),
        }
    }
}

/// As with a real server: what is dead cannot be frozen, thawed or killed.
fn must_be_up(it: &Node, node: usize) -> Result<(), Refusal> {
    if it.up {
        return Ok(());
    }
    Err(Refusal::Failed(format!("node {node} is down")))
}

impl World for Rc<SimWorld> {
    type Session = SimSession;

    fn name(&self) -> WorldName {
        WorldName::Sim
    }

    fn can_stall(&self) -> bool {
        false
    }

    async fn start_worker(
        &self,
        worker: usize,
        _incarnation: u32,
    ) -> Result<(SimSession, Vec<String>), Refusal> {
        let (requests, inbox) = mailbox();
        let (outbox, heard) = mailbox();
        let world = Rc::clone(self);
        let build = move |init: Init| async move { world.client(worker, &init) };
        let work = |said: Writer<Heard>| async move {
            answer_messages(inbox, build, |one| said.send(Heard::Said(one)).is_ok()).await;
            "ended with its driver".to_owned()
        };
        let around = HostContext {
            clock: self.clock.clone(),
            monitor: self.monitor.clone(),
            endpoint: self.network.endpoint,
        };
        let host = Host::start(worker, around, outbox, work);
        self.hosts.borrow_mut().insert(worker, host);
        let urls = (0..self.nodes).map(|node| format!("sim://node-{node}"));
        Ok((SimSession { requests, heard }, urls.collect()))
    }

    async fn freeze_worker(&self, worker: usize) -> Result<(), Refusal> {
        self.host(worker, Host::freeze)
    }

    async fn thaw_worker(&self, worker: usize) -> Result<(), Refusal> {
        self.host(worker, Host::thaw)
    }

    async fn kill_worker(&self, worker: usize) -> Result<(), Refusal> {
        // Its connections are closed by being dropped with it.
        self.hosts.borrow_mut().remove(&worker);
        Ok(())
    }

    async fn pause_node(&self, node: usize) -> Result<(), Refusal> {
        self.network.with_node(node, |it, _| {
            must_be_up(it, node)?;
            it.paused = true;
            Ok(())
        })
    }

    async fn resume_node(&self, node: usize) -> Result<(), Refusal> {
        self.network.with_node(node, |it, _| must_be_up(it, node))?;
        self.network.resume(node);
        Ok(())
    }

    async fn crash_node(&self, node: usize) -> Result<(), Refusal> {
        self.network.with_node(node, |it, now_ns| {
            must_be_up(it, node)?;
            it.crash(now_ns);
            Ok(())
        })?;
        self.network.cut(None, Some(&[node]));
        Ok(())
    }

    async fn restart_node(&self, node: usize) -> Result<(), Refusal> {
        self.network.with_node(node, |it, now_ns| {
            if it.up {
                return Err(Refusal::Failed(format!("node {node} is up")));
            }
            it.restart(now_ns);
            Ok(())
        })
    }

    async fn cut_replication(&self, node: usize) -> Result<(), Refusal> {
        match self.network.with_node(node, Node::cut_replication) {
            true => Ok(()),
            false => Err(no_replica(node)),
        }
    }

    async fn fail_over(&self, node: usize) -> Result<(), Refusal> {
        // The clients of the old master are cut off before the new one is there.
        self.network.cut(None, Some(&[node]));
        match self.network.with_node(node, Node::fail_over) {
            true => Ok(()),
            false => Err(no_replica(node)),
        }
    }

    async fn set_node_clock(&self, node: usize, off_ns: i64) -> Result<(), Refusal> {
        self.network.with_node(node, |it, _| {
            it.set_clock_off(off_ns);
            must_be_up(it, node)?;
            match it.paused {
                true => Err(Refusal::Failed(format!("node {node} is paused"))),
                false => Ok(()),
            }
        })?;
        // Whoever has waited long enough by this clock is told so.
        self.network.check_timeouts(node);
        Ok(())
    }

    async fn set_worker_clock(&self, worker: usize, off_ns: i64) -> Result<(), Refusal> {
        self.wall(worker).set_off(off_ns);
        Ok(())
    }

    async fn tamper(&self, node: usize, tampering: &Tampering) -> Result<u64, Refusal> {
        self.network.with_node(node, |it, now_ns| {
            // What a dead or frozen node gets back it finds when it goes on.
            let is_relief = matches!(tampering, Tampering::Replenish(_));
            if !is_relief {
                must_be_up(it, node)?;
            }
            if it.paused && !is_relief {
                return Err(Refusal::Failed(format!("node {node} does not answer")));
            }
            Ok(it.tamper(tampering, now_ns))
        })
    }

    fn impose(&self, fault: LinkFault) -> ImposedId {
        self.network.faults.impose(fault)
    }

    fn lift(&self, id: ImposedId) {
        self.network.faults.lift(id);
        self.network.look_again();
    }

    fn struck(&self, id: ImposedId) -> u64 {
        self.network.faults.struck(id)
    }

    fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) {
        self.network.cut(workers, nodes);
    }

    fn set_phase(&self, worker: usize, op: u64, phase: Phase) {
        self.network.set_phase(worker, op, phase);
    }

    fn last_command_ns(&self, worker: usize, op: u64, phase: Phase, key: u32) -> Option<u64> {
        self.network.last_command_ns(worker, op, phase, key)
    }

    async fn ask_store(&self, command: &[&str]) -> Result<Option<i64>, Refusal> {
        let args: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
        // There and back on a network without faults.
        tokio::time::sleep(STORE_AWAY).await;
        let reply = self
            .network
            .with_node(self.nodes, |store, now_ns| store.answer_once(&args, now_ns));
        tokio::time::sleep(STORE_AWAY).await;
        match reply {
            Reply::Int(number) => Ok(Some(number)),
            Reply::Bulk(text) => String::from_utf8_lossy(&text)
                .parse()
                .map(Some)
                .map_err(|_| Refusal::Failed(format!("{text:?} is no number"))),
            Reply::Nil => Ok(None),
            other => Err(Refusal::Failed(format!("the store answered {other:?}"))),
        }
    }

    async fn key_ttl_ms(&self, node: usize, key: &str) -> Option<i64> {
        // As through a connection of our own: not before what is still on its way.
        tokio::time::sleep(Network::slowest() + Duration::from_millis(1)).await;
        self.network.with_node(node, |node, now_ns| {
            let answers = node.up && !node.paused;
            answers.then(|| node.key_ttl_ms(key, now_ns)).flatten()
        })
    }
}

fn no_replica(node: usize) -> Refusal {
    Refusal::Failed(format!("node {node} has no replica"))
}

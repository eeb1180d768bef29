//! A simulated Redis server, with its wall clock, its persisted data and its replica.

use std::collections::VecDeque;

use picklock_scenarios::{Persistence, Resource};

use super::frame::Frame;
use super::node_observer::{NodeObserver, NodeStep, ObservedServers};
use super::wall_clock::SimWallClock;
use crate::backend::{DataChange, keys_to_evict};
use crate::clock::Clock;
use crate::history::KeyChange;
use crate::key_watch::{InspectionTime, KeyWatch};
use crate::model::{ClientId, Effect, Keyspace, Now, Reply, Server, ServerVersion};
use crate::proxy::CommandEffect;

/// Interval at which the append-only file is synced with `appendfsync everysec`, in nanoseconds.
const SYNC_NS: u64 = 1_000_000_000;

/// Replication lag in nanoseconds, typical within one data centre.
const LAG_NS: u64 = 500_000;

/// One node: its server, its replica, and its faults.
pub(super) struct Node {
    /// The server model. Commands of clients must be executed with [`Node::execute`].
    pub(super) server: Server,
    wall: SimWallClock,
    persistence: Persistence,
    /// The data that would survive a power loss, as of `synced_ns`.
    durable: Keyspace,
    synced_ns: u64,
    pub(super) up: bool,
    pub(super) paused: bool,
    /// Frames that arrived while the node was paused.
    pub(super) backlog: VecDeque<Frame>,
    /// The earliest scheduled timeout of the node's blocking commands, on the simulation's clock.
    timeout_ns: Option<u64>,
    replica: Option<Replica>,
    /// The exhausted resources, with one entry per active fault.
    exhausted: Vec<Resource>,
    /// The last client that the node accepted before it stopped accepting connections. `None` while it accepts
    /// connections.
    last_admitted: Option<ClientId>,
    /// Records the changes of the node's keys. Records nothing on a node without lock keys.
    pub(super) watch: KeyWatch,
    /// Observes the node's steps. `None` if the run is not observed.
    observer: Option<Box<dyn NodeObserver>>,
}

/// A replica that lags behind its master.
struct Replica {
    server: Server,
    /// The clock of the replica's machine.
    wall: SimWallClock,
    /// The changes on their way to the replica, each with its arrival time.
    stream: VecDeque<(u64, Effect)>,
    /// Number of the master's changes that the replica has applied.
    received: u64,
    linked: bool,
    /// Number of replicas that this model represents. Only the first replica is ever promoted.
    represented: u32,
}

impl Replica {
    /// Applies the changes that arrive by `until_ns`. The replica's clock reads the time that corresponds to `sim_ns`.
    fn catch_up(&mut self, until_ns: u64, sim_ns: u64) {
        let now = at(&self.wall, sim_ns);
        let arrives = |(at_ns, _): &&(u64, Effect)| *at_ns <= until_ns;
        let count = self.stream.iter().take_while(arrives).count();
        for (_, effect) in self.stream.drain(..count) {
            self.server.apply(&effect, now);
            self.received += 1;
        }
    }
}

impl Node {
    pub(super) fn new(
        version: ServerVersion,
        replicas: usize,
        persistence: Persistence,
        clock: &Clock,
    ) -> Self {
        let mut server = Server::new(version);
        server.record_effects(replicas > 0);
        let represented = u32::try_from(replicas).unwrap_or(u32::MAX);
        server.set_acknowledged(represented, 0);
        let replica = (replicas > 0).then(|| Replica {
            server: Server::new(version),
            wall: SimWallClock::new(clock),
            stream: VecDeque::new(),
            received: 0,
            linked: true,
            represented,
        });
        Node {
            replica,
            durable: server.snapshot(),
            server,
            wall: SimWallClock::new(clock),
            persistence,
            synced_ns: 0,
            up: true,
            paused: false,
            backlog: VecDeque::new(),
            timeout_ns: None,
            exhausted: Vec::new(),
            last_admitted: None,
            watch: KeyWatch::default(),
            observer: None,
        }
    }

    pub(super) fn watch_keys(&mut self, watch: KeyWatch) {
        self.server.watch_keys(true);
        self.watch = watch;
    }

    pub(super) fn be_observed(&mut self, observer: Box<dyn NodeObserver>) {
        self.observer = Some(observer);
        self.observe(NodeStep::Began, 0);
    }

    /// Passes a step to the observer, if the run is observed.
    pub(super) fn observe(&mut self, step: NodeStep<'_>, sim_ns: u64) {
        if let Some(observer) = &mut self.observer {
            let servers = ObservedServers {
                master: &mut self.server,
                replica: self.replica.as_mut().map(|replica| &mut replica.server),
                now: at(&self.wall, sim_ns),
                at_ns: sim_ns,
            };
            observer.at(step, servers);
        }
    }

    pub(super) fn record_changes(&mut self, sim_ns: u64, why: impl Fn() -> KeyChange) {
        self.observe(NodeStep::Operated, sim_ns);
        self.inspect_keys(sim_ns, why);
    }

    fn inspect_keys(&mut self, sim_ns: u64, why: impl Fn() -> KeyChange) {
        if self.server.has_touched() {
            let time = self.inspection_time(sim_ns);
            self.watch.inspect(&mut self.server, time, why);
        }
    }

    /// Returns the effect on locks of all changes after the first `before` changes.
    pub(super) fn effect_since(&self, before: usize) -> CommandEffect {
        let changes = before..self.watch.changes();
        CommandEffect {
            took_lock: self.watch.took_lock(changes.clone()),
            lock: self.watch.lock_changed(changes),
        }
    }

    /// Records the key changes caused by a replacement of the data or of the whole server.
    fn record_replacement(&mut self, sim_ns: u64, why: &KeyChange) {
        let time = self.inspection_time(sim_ns);
        self.watch.inspect_all(&mut self.server, time, why);
    }

    fn inspection_time(&self, sim_ns: u64) -> InspectionTime {
        InspectionTime {
            at_ns: sim_ns,
            wall_ms: self.now(sim_ns).ms(),
        }
    }

    pub(super) fn execute(&mut self, client: ClientId, args: &[&[u8]], sim_ns: u64) -> Reply {
        self.sync(sim_ns);
        let now = self.now(sim_ns);
        self.replicate(sim_ns);
        let reply = self.server.execute(client, args, now);
        let effects = self.server.take_effects();
        if let Some(replica) = self.replica.as_mut().filter(|replica| replica.linked) {
            let arrives = sim_ns + LAG_NS;
            replica
                .stream
                .extend(effects.into_iter().map(|effect| (arrives, effect)));
        }
        reply
    }

    /// Applies the changes that have arrived at the replica, and acknowledges them.
    fn replicate(&mut self, sim_ns: u64) {
        if let Some(replica) = self.replica.as_mut().filter(|replica| replica.linked) {
            replica.catch_up(sim_ns, sim_ns);
            self.server
                .set_acknowledged(replica.represented, replica.received);
        }
    }

    /// Returns when the replica's next acknowledgement arrives, or `None` if no client waits for an acknowledgement.
    fn next_acknowledgement(&self) -> Option<u64> {
        let replica = self.replica.as_ref().filter(|replica| replica.linked)?;
        let (at_ns, _) = replica.stream.front()?;
        self.server.waits_for_replicas().then_some(*at_ns)
    }

    /// Cuts the replication link, and drops the changes in transit. Returns `false` if the node has no replica.
    pub(super) fn cut_replication(&mut self, sim_ns: u64) -> bool {
        let Some(replica) = &mut self.replica else {
            return false;
        };
        replica.catch_up(sim_ns, sim_ns);
        replica.stream.clear();
        replica.linked = false;
        self.server.set_acknowledged(0, 0);
        true
    }

    /// Replaces the master by the replica, which first applies all changes in transit unless the link was cut. Returns
    /// `false` if the node has no replica.
    pub(super) fn fail_over(&mut self, sim_ns: u64) -> bool {
        if let Some(replica) = &mut self.replica {
            replica.catch_up(u64::MAX, sim_ns);
            self.observe(NodeStep::Replacing, sim_ns);
        }
        let Some(replica) = self.replica.take() else {
            return false;
        };
        self.server = replica.server;
        // Only lock nodes fail over, and the keys of every lock node are watched.
        self.server.watch_keys(true);
        self.wall = replica.wall;
        self.durable = self.server.snapshot();
        self.synced_ns = sim_ns;
        self.up = true;
        self.paused = false;
        self.backlog.clear();
        self.exhausted.clear();
        self.set_limits();
        self.record_replacement(sim_ns, &KeyChange::FailedOver);
        self.observe(NodeStep::Promoted, sim_ns);
        true
    }

    /// Returns the time at which [`Node::time_out`] must be called, on the simulation's clock. Returns `None` if no
    /// call is needed, or if an earlier call is already scheduled.
    pub(super) fn schedule_timeout(&mut self) -> Option<u64> {
        if self.paused {
            return None;
        }
        let timeout = self.server.next_timeout();
        let timeout_ns = timeout.map(|timeout| self.wall.sim_ns(timeout.wall_us));
        let next_ns = timeout_ns
            .into_iter()
            .chain(self.next_acknowledgement())
            .min()?;
        if self
            .timeout_ns
            .is_some_and(|scheduled_ns| scheduled_ns <= next_ns)
        {
            return None;
        }
        self.timeout_ns = Some(next_ns);
        self.timeout_ns
    }

    /// Ends the blocking commands that have timed out or whose replicas have acknowledged.
    pub(super) fn time_out(&mut self, sim_ns: u64) {
        self.timeout_ns = None;
        if self.up && !self.paused {
            let now = self.now(sim_ns);
            // First applies acknowledgements that have arrived, so that their commands do not time out.
            self.replicate(sim_ns);
            self.server.time_out(now);
        }
    }

    /// Simulates a power loss, which loses all connections, all cached scripts and all data that was not synced.
    pub(super) fn crash(&mut self, sim_ns: u64) {
        self.sync(sim_ns);
        if self.persistence == Persistence::AofAlways {
            self.durable = self.server.snapshot();
        }
        self.up = false;
        self.paused = false;
        self.backlog.clear();
    }

    /// Starts the server with its persisted data.
    pub(super) fn restart(&mut self, sim_ns: u64) {
        let now = self.now(sim_ns);
        self.observe(NodeStep::Replacing, sim_ns);
        // Keys that expired while the server was down are not loaded. They count as expired, not as lost in the
        // restart.
        self.server.expire_cycle(now);
        self.inspect_keys(sim_ns, || KeyChange::Expired);
        self.server.flush();
        self.server.flush_scripts();
        self.server.restore(self.durable.clone());
        self.server.expire_cycle(now);
        self.synced_ns = sim_ns;
        self.up = true;
        // After a restart, the server has its original settings again.
        self.exhausted.clear();
        self.set_limits();
        self.record_replacement(sim_ns, &KeyChange::Restarted);
        self.observe(NodeStep::Restarted, sim_ns);
    }

    /// Changes data or settings. Returns the number of keys that were evicted.
    pub(super) fn change_data(&mut self, change: &DataChange, sim_ns: u64) -> u64 {
        match change {
            DataChange::Evict(keys) => {
                let keys = keys_to_evict(keys, |lock| self.watch.keys_of(lock));
                let mut words: Vec<&[u8]> = vec![b"DEL"];
                words.extend(keys.iter().map(String::as_bytes));
                let removed = self.administer(&words, sim_ns);
                self.record_changes(sim_ns, || KeyChange::Evicted);
                let Reply::Int(removed) = removed else {
                    return 0;
                };
                return u64::try_from(removed).unwrap_or_default();
            }
            DataChange::FlushAll => {
                self.administer(&[b"FLUSHALL"], sim_ns);
                self.record_changes(sim_ns, || KeyChange::Flushed);
            }
            DataChange::FlushScripts => self.server.flush_scripts(),
            DataChange::Exhaust(resource) => self.exhausted.push(*resource),
            DataChange::Replenish(resource) => {
                let mut exhausted = self.exhausted.iter();
                if let Some(index) = exhausted.position(|other| other == resource) {
                    self.exhausted.swap_remove(index);
                }
            }
        }
        self.set_limits();
        0
    }

    /// Executes a command on a new connection.
    fn administer(&mut self, words: &[&[u8]], sim_ns: u64) -> Reply {
        let client = self.server.connect();
        let reply = self.execute(client, words, sim_ns);
        self.server.disconnect(client);
        reply
    }

    fn set_limits(&mut self) {
        let lacks_memory = self.exhausted.contains(&Resource::Memory);
        self.server.set_out_of_memory(lacks_memory);
        if !self.exhausted.contains(&Resource::Connections) {
            self.last_admitted = None;
        } else if self.last_admitted.is_none() {
            let last = self.server.connect();
            self.server.disconnect(last);
            self.last_admitted = Some(last);
        }
    }

    /// Returns `true` if the node does not accept this client, because it connected after the last accepted client.
    pub(super) fn turns_away(&self, client: ClientId) -> bool {
        self.last_admitted.is_some_and(|last| client > last)
    }

    /// Returns the remaining TTL of a key in milliseconds, −1 for a key without expiry, or `None`
    /// if the key does not exist.
    pub(super) fn key_ttl_ms(&mut self, key: &str, sim_ns: u64) -> Option<i64> {
        match self.answer_once(&[b"PTTL", key.as_bytes()], sim_ns) {
            Reply::Int(left) if left != -2 => Some(left),
            _ => None,
        }
    }

    /// Sets the offset of the wall clock in nanoseconds. A negative offset means that the clock is behind.
    pub(super) fn set_clock_off(&mut self, off_ns: i64) {
        self.wall.set_off(off_ns);
        // The timeouts are measured by this clock and must be scheduled again.
        self.timeout_ns = None;
    }

    /// Executes one of the harness's own commands on a new connection, and closes the connection.
    pub(super) fn answer_once(&mut self, args: &[&[u8]], sim_ns: u64) -> Reply {
        let client = self.server.connect();
        let now = self.now(sim_ns);
        let reply = self.server.execute(client, args, now);
        self.server.disconnect(client);
        // The command changes no data, but may find that a key has expired.
        self.record_changes(sim_ns, || KeyChange::Found);
        reply
    }

    fn now(&self, sim_ns: u64) -> Now {
        at(&self.wall, sim_ns)
    }

    /// Performs the background sync of the last whole second, if it is outstanding. Must be called before the first
    /// change after that second, because the sync must not include the change.
    fn sync(&mut self, sim_ns: u64) {
        if self.persistence != Persistence::AofEverysec {
            return;
        }
        let due = sim_ns / SYNC_NS * SYNC_NS;
        if due > self.synced_ns {
            self.durable = self.server.snapshot();
            self.synced_ns = due;
        }
    }
}

/// Returns the clock's reading at time `sim_ns` of the simulation.
fn at(wall: &SimWallClock, sim_ns: u64) -> Now {
    Now {
        wall_us: wall.at_us(sim_ns),
    }
}

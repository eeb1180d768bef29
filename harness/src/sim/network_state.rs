//! The state of the network: nodes, connections, scheduled events, and the workers' operations.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use memchr::memmem::Finder;
use picklock_scenarios::{Direction, Phase};
use rand::rngs::StdRng;

use super::args::Args;
use super::connection_state::{Connection, ConnectionDirection, Path};
use super::event_queue::{EventQueue, NetworkEvent};
use super::frame::{CommandTag, Frame, Payload};
use super::node::Node;
use super::submission_queue::RequestId;
use crate::history::{KeyChange, KeyCommand};
use crate::key_history::KeyRecord;
use crate::key_watch::declared_keys;
use crate::model::Reply;
use crate::proxy::{
    AcquireTraffic, DerivedKeys, FrameBarrier, LastCommands, LinkId, may_take_free_key,
};

/// The current operation and the recent traffic of one worker. All times are on the simulation's clock.
pub(super) struct Worker {
    op: u64,
    phase: Phase,
    pub(super) has_sent_data: bool,
    /// The worker's traffic during its acquisitions.
    pub(super) traffic: AcquireTraffic,
    /// The last commands that named a lock key, each with its arrival time.
    pub(super) last: LastCommands,
}

/// The connections by number. Numbers are assigned in order and never reused.
#[derive(Default)]
pub(super) struct Connections(Vec<Option<Box<Connection>>>);

impl Connections {
    pub(super) fn get(&self, conn: u64) -> Option<&Connection> {
        self.0.get(usize::try_from(conn).ok()?)?.as_deref()
    }

    pub(super) fn get_mut(&mut self, conn: u64) -> Option<&mut Connection> {
        self.0.get_mut(usize::try_from(conn).ok()?)?.as_deref_mut()
    }

    /// Returns all connections in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Connection)> {
        let all = (0..).zip(&self.0);
        all.filter_map(|(number, conn)| Some((number, conn.as_deref()?)))
    }

    fn get_or_insert(&mut self, conn: u64, make: impl FnOnce() -> Connection) -> &mut Connection {
        // No run has enough connections for this conversion to fail.
        let index = usize::try_from(conn).unwrap_or(usize::MAX);
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        self.0[index].get_or_insert_with(|| Box::new(make()))
    }

    fn remove(&mut self, conn: u64) -> Option<Box<Connection>> {
        self.0.get_mut(usize::try_from(conn).ok()?)?.take()
    }
}

pub(super) struct NetworkState {
    pub(super) nodes: Vec<Node>,
    pub(super) connections: Connections,
    /// Connections that were reset, but that their clients have not closed yet.
    pub(super) broken: BTreeSet<u64>,
    pub(super) events: EventQueue,
    pub(super) rng: StdRng,
    /// The workers by number, up to the highest number that has been used.
    pub(super) workers: Vec<Worker>,
    /// The names of commands, in upper case. The first name is empty.
    pub(super) names: Vec<Arc<str>>,
    /// For each entry of `names`, whether the command can take a lock whose key is free.
    takers: Vec<bool>,
    /// The lock keys, longest name first, so that a name is never mistaken for a shorter name that is its prefix.
    keys: Vec<(u32, Finder<'static>)>,
    derived: DerivedKeys,
    /// New barriers that the network's task does not poll yet.
    pub(super) barriers: Vec<(ConnectionDirection, FrameBarrier)>,
}

impl NetworkState {
    pub(super) fn new(nodes: Vec<Node>, keys: &[String], rng: StdRng) -> Self {
        let names = (0..).zip(keys);
        let mut keys: Vec<_> = names
            .map(|(number, key)| (number, Finder::new(key.as_bytes()).into_owned()))
            .collect();
        keys.sort_by_key(|(_, key)| std::cmp::Reverse(key.needle().len()));
        NetworkState {
            nodes,
            connections: Connections::default(),
            broken: BTreeSet::new(),
            events: EventQueue::default(),
            rng,
            workers: Vec::new(),
            names: vec![Arc::from("")],
            takers: vec![false],
            keys,
            derived: DerivedKeys::default(),
            barriers: Vec::new(),
        }
    }

    pub(super) fn set_phase(&mut self, worker: usize, op: u64, phase: Phase, now_ns: u64) {
        let worker = self.worker(worker);
        (worker.op, worker.phase) = (op, phase);
        worker.traffic.begin(op, phase, now_ns);
    }

    fn worker(&mut self, worker: usize) -> &mut Worker {
        if self.workers.len() <= worker {
            let idle = || Worker {
                op: 0,
                phase: Phase::Idle,
                has_sent_data: false,
                traffic: AcquireTraffic::default(),
                last: LastCommands::default(),
            };
            self.workers.resize_with(worker + 1, idle);
        }
        &mut self.workers[worker]
    }

    /// Creates the tag of a command that the worker is sending.
    pub(super) fn tag(&mut self, worker: usize, args: &Args, now_ns: u64) -> CommandTag {
        let name = self.name(args.iter().next().unwrap_or_default());
        let may_take = self.takers[name];
        let worker = self.worker(worker);
        worker.has_sent_data = true;
        worker.traffic.record_command(now_ns, may_take);
        let &mut Worker { op, phase, .. } = worker;
        CommandTag {
            name,
            key: self.key_named_by(args),
            op,
            phase,
            ..CommandTag::none()
        }
    }

    /// Records that a fault drops a command of this worker, or the reply to it.
    pub(super) fn record_loss(&mut self, worker: usize, tag: &CommandTag) {
        if self.takers[tag.name] {
            self.worker(worker).traffic.record_loss(tag.op);
        }
    }

    /// Returns the number of the lock whose key a command names.
    fn key_named_by(&self, args: &Args) -> Option<u32> {
        let mut keys = self.keys.iter();
        // The key is nearly always a whole word, and comparing words is faster than searching.
        let named = keys.find(|(_, key)| {
            args.iter().any(|word| word == key.needle()) || key.find(args.data()).is_some()
        });
        let derived = || self.derived.find(|name| name.find(args.data()).is_some());
        named.map_or_else(derived, |(number, _)| Some(*number))
    }

    /// Returns the index of a command's name. Adds the name to the list if it is new.
    fn name(&mut self, name: &[u8]) -> usize {
        let mut names = self.names.iter().map(|name| name.as_bytes());
        // Nearly all names are sent in upper case.
        let known = names.position(|known| known == name || known.eq_ignore_ascii_case(name));
        known.unwrap_or_else(|| {
            let upper = String::from_utf8_lossy(name).to_ascii_uppercase();
            self.takers.push(may_take_free_key(&upper));
            self.names.push(Arc::from(upper));
            self.names.len() - 1
        })
    }

    /// Returns the connection with this number. Opens the connection if the number is new.
    pub(super) fn connect(
        &mut self,
        conn: u64,
        link: LinkId,
        path: impl Fn(Direction) -> Path,
    ) -> &mut Connection {
        let nodes = &mut self.nodes;
        self.connections.get_or_insert(conn, || Connection {
            link,
            client: nodes[link.node].server.connect(),
            request: path(Direction::Request),
            reply: path(Direction::Reply),
            established: false,
            waiting: VecDeque::new(),
            blocked: None,
            behind: VecDeque::new(),
        })
    }

    fn reply(&mut self, conn: u64, tag: CommandTag, payload: Payload) {
        if let Some(connection) = self.connections.get_mut(conn) {
            let frame = Frame { conn, tag, payload };
            connection.reply.arriving.push_back(frame);
        }
    }

    /// Removes and returns the request that an arrived reply completes, together with the reply.
    pub(super) fn match_reply(&mut self, frame: Frame) -> Option<(RequestId, Reply)> {
        let connection = self.connections.get_mut(frame.conn)?;
        let request = connection.waiting.pop_front()?;
        match frame.payload {
            Payload::Reply(reply) => Some((request, reply)),
            Payload::Command(_) | Payload::Publication(_) | Payload::Close => None,
        }
    }

    /// Blocks a connection on a command that its node has not answered. The command may have a timeout.
    pub(super) fn block(&mut self, conn: u64, tag: CommandTag, at_ns: u64) {
        let Some(connection) = self.connections.get_mut(conn) else {
            return;
        };
        connection.blocked = Some(tag);
        let node = connection.link.node;
        self.schedule_timeout(node, at_ns);
    }

    /// Schedules the next timeout of a node's blocking commands, unless it is already scheduled.
    pub(super) fn schedule_timeout(&mut self, node: usize, now_ns: u64) {
        if let Some(at_ns) = self.nodes[node].schedule_timeout() {
            let at_ns = at_ns.max(now_ns);
            self.events
                .add(at_ns, u32::MAX, NetworkEvent::TimedOut(node));
        }
    }

    /// Queues a node's late replies to its blocked clients, and its publications to subscribers.
    /// Calls `replied` for each reply. Returns the connections of all receivers.
    pub(super) fn send_messages(&mut self, node: usize, replied: impl Fn(u64, &Reply)) -> Vec<u64> {
        let mut answered = Vec::new();
        for (client, reply) in self.nodes[node].server.take_messages() {
            let matches = |known: &Connection| known.client == client && known.link.node == node;
            let found = self.connections.iter().find(|(_, known)| matches(known));
            let Some((conn, known)) = found else {
                continue;
            };
            let worker = known.link.worker;
            let connection = self.connections.get_mut(conn);
            // A blocked client can receive a publication without being unblocked.
            let is_reply = !matches!(reply, Reply::Push(_));
            let blocked = connection.filter(|_| is_reply);
            match blocked.and_then(|connection| connection.blocked.take()) {
                Some(tag) => {
                    replied(conn, &reply);
                    self.reply(conn, tag, Payload::Reply(reply));
                }
                None => {
                    let tag = self.unrequested(worker);
                    self.reply(conn, tag, Payload::Publication(reply));
                }
            }
            answered.push(conn);
        }
        answered
    }

    /// Creates the tag of a frame that answers no command of this worker. The tag has the same content as in the real
    /// proxy.
    fn unrequested(&mut self, worker: usize) -> CommandTag {
        let &mut Worker { op, phase, .. } = self.worker(worker);
        CommandTag {
            op,
            phase,
            ..CommandTag::none()
        }
    }

    pub(super) fn record_command(&mut self, link: LinkId, tag: &CommandTag, at_ns: u64) {
        let Some(key) = tag.key else { return };
        let nodes = self.nodes.len();
        let worker = self.worker(link.worker);
        // Two entries per node suffice for most attempts.
        worker
            .last
            .record(tag.op, (tag.phase, key, link.node), at_ns, 2 * nodes);
    }

    /// Records the keys that a command has changed. If one of the keys stores a lock under a name derived from the
    /// lock's name, the command counts as naming that lock.
    pub(super) fn record_key_changes(
        &mut self,
        link: LinkId,
        tag: &mut CommandTag,
        args: &Args,
        at_ns: u64,
    ) {
        let command = &self.names[tag.name];
        let node = &mut self.nodes[link.node];
        let before = node.watch.changes();
        node.watch.record_read((link.worker, command), args.iter());
        node.record_changes(at_ns, || {
            KeyChange::Command(KeyCommand {
                worker: link.worker,
                op: tag.op,
                phase: tag.phase,
                command: Arc::clone(command),
                sent_ns: tag.sent_ns,
                forwarded_at_ns: None,
                names_unread_value: false,
            })
        });
        if node.watch.changes() > before {
            node.watch.mark_unread(before, args.iter());
            if let Some(declared) = declared_keys(command, args.iter()) {
                node.watch.record_undeclared(before, declared);
            }
        }
        if let Some(derived) = node.watch.new_derived_keys() {
            self.derived.replace(link.node, &derived);
            tag.key = tag.key.or_else(|| self.key_named_by(args));
        }
    }

    /// Removes the recorded key changes of all nodes, and calls `take` with each of them in chronological order.
    /// Changes at the same time are ordered by node number.
    pub(super) fn take_key_records(&mut self, mut take: impl FnMut(usize, KeyRecord)) {
        let lists = self.nodes.iter_mut().map(|node| node.watch.take());
        let mut lists: Vec<_> = lists.map(Vec::into_iter).collect();
        // Each node's list is sorted, so it suffices to compare the first remaining record of each list.
        let next = |lists: &[std::vec::IntoIter<KeyRecord>]| {
            let heads = lists.iter().enumerate();
            let heads =
                heads.filter_map(|(node, list)| Some((list.as_slice().first()?.at_ns, node)));
            heads.min().map(|(_, node)| node)
        };
        while let Some(node) = next(&lists) {
            if let Some(record) = lists[node].next() {
                take(node, record);
            }
        }
    }

    /// Removes a connection. The caller must fail the requests that still wait for a reply on this connection.
    pub(super) fn remove_connection(&mut self, conn: u64) -> Option<Box<Connection>> {
        let connection = self.connections.remove(conn)?;
        let node = &mut self.nodes[connection.link.node];
        node.server.disconnect(connection.client);
        Some(connection)
    }
}

//! What the network knows: nodes, connections, what is on its way, and who is busy with what.

use std::collections::{BTreeSet, VecDeque};

use memchr::memmem::Finder;
use picklock_scenarios::{Direction, Phase};
use rand::rngs::StdRng;

use super::args::Args;
use super::desk::Place;
use super::network::Way;
use super::node::Node;
use super::traffic::{Agenda, Arrival, Asked, Cargo, Conn, Frame, Outlet};
use crate::model::Reply;
use crate::wire::{Gate, LinkId};

/// Attempts of one worker whose last commands are remembered.
const REMEMBERED: usize = 1024;

/// The last command of its kind: phase, key, node, and when it arrived there.
type Last = (Phase, u32, usize, u64);

/// What one worker is busy with, and was.
struct Worker {
    op: u64,
    phase: Phase,
    /// For each attempt, the last commands that named a key; attempts in order.
    last: VecDeque<(u64, Vec<Last>)>,
}

impl Worker {
    const IDLE: Worker = Worker {
        op: 0,
        phase: Phase::Idle,
        last: VecDeque::new(),
    };

    /// What is remembered of an attempt, with room for as much as is likely to come.
    fn attempt(&mut self, op: u64, likely: usize) -> &mut Vec<Last> {
        // It is nearly always the latest one.
        let later = self.last.iter().rev().take_while(|(other, _)| *other > op);
        let mut place = self.last.len() - later.count();
        let known = place > 0 && self.last[place - 1].0 == op;
        if known {
            place -= 1;
        } else {
            self.last.insert(place, (op, Vec::with_capacity(likely)));
        }
        &mut self.last[place].1
    }
}

/// The connections. Their numbers are given in order and never again.
#[derive(Default)]
pub(super) struct Conns(Vec<Option<Box<Conn>>>);

impl Conns {
    pub(super) fn get(&self, conn: u64) -> Option<&Conn> {
        self.0.get(usize::try_from(conn).ok()?)?.as_deref()
    }

    pub(super) fn get_mut(&mut self, conn: u64) -> Option<&mut Conn> {
        self.0.get_mut(usize::try_from(conn).ok()?)?.as_deref_mut()
    }

    /// All that there are, in the order of their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Conn)> {
        let all = (0..).zip(&self.0);
        all.filter_map(|(number, conn)| Some((number, conn.as_deref()?)))
    }

    fn get_or_insert(&mut self, conn: u64, make: impl FnOnce() -> Conn) -> &mut Conn {
        // A run with so many connections that they do not fit has ended long ago.
        let place = usize::try_from(conn).unwrap_or(usize::MAX);
        if self.0.len() <= place {
            self.0.resize_with(place + 1, || None);
        }
        self.0[place].get_or_insert_with(|| Box::new(make()))
    }

    fn remove(&mut self, conn: u64) -> Option<Box<Conn>> {
        self.0.get_mut(usize::try_from(conn).ok()?)?.take()
    }
}

/// What the network knows.
pub(super) struct Ledger {
    pub(super) nodes: Vec<Node>,
    pub(super) conns: Conns,
    /// Connections that were reset, and that their clients have not thrown away yet.
    pub(super) broken: BTreeSet<u64>,
    pub(super) agenda: Agenda,
    pub(super) entropy: StdRng,
    workers: Vec<Worker>,
    /// Names of commands, in capitals; the first is empty.
    pub(super) names: Vec<String>,
    keys: Vec<Finder<'static>>,
    /// Frames at gates whose tasks have not been started.
    pub(super) gates: Vec<(Way, Gate)>,
}

impl Ledger {
    pub(super) fn new(nodes: Vec<Node>, keys: &[String], entropy: StdRng) -> Self {
        let keys = keys.iter();
        Ledger {
            nodes,
            conns: Conns::default(),
            broken: BTreeSet::new(),
            agenda: Agenda::default(),
            entropy,
            workers: Vec::new(),
            names: vec![String::new()],
            keys: keys
                .map(|key| Finder::new(key.as_bytes()).into_owned())
                .collect(),
            gates: Vec::new(),
        }
    }

    pub(super) fn set_phase(&mut self, worker: usize, op: u64, phase: Phase) {
        let worker = self.worker(worker);
        (worker.op, worker.phase) = (op, phase);
    }

    fn worker(&mut self, worker: usize) -> &mut Worker {
        if self.workers.len() <= worker {
            self.workers.resize_with(worker + 1, || Worker::IDLE);
        }
        &mut self.workers[worker]
    }

    /// When, in the simulation's time, the worker's last command of this attempt and phase that
    /// names the key arrived. Of several nodes the one counts that was done with first: a quorum
    /// may have let the lock go while the command to another node was still on its way.
    pub(super) fn last_command_ns(
        &self,
        worker: usize,
        op: u64,
        phase: Phase,
        key: u32,
    ) -> Option<u64> {
        let last = &self.workers.get(worker)?.last;
        let place = last.binary_search_by_key(&op, |(op, _)| *op).ok()?;
        let matching = last[place]
            .1
            .iter()
            .filter(|last| (last.0, last.1) == (phase, key));
        matching.map(|last| last.3).min()
    }

    pub(super) fn asked(&mut self, worker: usize, args: &Args) -> Asked {
        let &mut Worker { op, phase, .. } = self.worker(worker);
        let mut keys = self.keys.iter();
        // It is nearly always a word of its own, which is found sooner.
        let named = keys.position(|key| {
            args.iter().any(|word| word == key.needle()) || key.find(args.data()).is_some()
        });
        Asked {
            name: self.name(args.iter().next().unwrap_or_default()),
            key: named.and_then(|key| u32::try_from(key).ok()),
            op,
            phase,
        }
    }

    /// The place of a command's name.
    fn name(&mut self, name: &[u8]) -> usize {
        let mut known = self.names.iter();
        let known = known.position(|known| {
            // Nearly all are written in capitals.
            known.as_bytes() == name || known.as_bytes().eq_ignore_ascii_case(name)
        });
        known.unwrap_or_else(|| {
            let upper = String::from_utf8_lossy(name).to_ascii_uppercase();
            self.names.push(upper);
            self.names.len() - 1
        })
    }

    pub(super) fn connect(
        &mut self,
        conn: u64,
        link: LinkId,
        outlet: impl Fn(Direction) -> Outlet,
    ) -> &mut Conn {
        let nodes = &mut self.nodes;
        self.conns.get_or_insert(conn, || Conn {
            link,
            client: nodes[link.node].connect(),
            request: outlet(Direction::Request),
            reply: outlet(Direction::Reply),
            established: false,
            waiting: VecDeque::new(),
            blocked: None,
            behind: VecDeque::new(),
        })
    }

    pub(super) fn reply(&mut self, conn: u64, asked: Asked, reply: Reply) {
        if let Some(known) = self.conns.get_mut(conn) {
            let cargo = Cargo::Reply(reply);
            known.reply.coming.push_back(Frame { conn, asked, cargo });
        }
    }

    /// A reply has arrived at its client: who gets it.
    pub(super) fn hand_over(&mut self, frame: Frame) -> Option<(Place, Reply)> {
        let place = self.conns.get_mut(frame.conn)?.waiting.pop_front()?;
        match frame.cargo {
            Cargo::Reply(reply) => Some((place, reply)),
            Cargo::Command(_) | Cargo::Close => None,
        }
    }

    /// A command has to wait at its node, perhaps for so long and no longer.
    pub(super) fn block(&mut self, conn: u64, asked: Asked, at_ns: u64) {
        let Some(known) = self.conns.get_mut(conn) else {
            return;
        };
        known.blocked = Some(asked);
        let node = known.link.node;
        self.set_alarm(node, at_ns);
    }

    pub(super) fn set_alarm(&mut self, node: usize, now_ns: u64) {
        if let Some(over_ns) = self.nodes[node].set_alarm() {
            let over_ns = over_ns.max(now_ns);
            self.agenda.add(over_ns, u32::MAX, Arrival::TimedOut(node));
        }
    }

    /// Gives late replies to whoever waits for them; the connections that got one.
    pub(super) fn answer_blocked(&mut self, node: usize) -> Vec<u64> {
        let mut woken = Vec::new();
        for (client, reply) in self.nodes[node].messages() {
            let is_it = |conn: &Conn| conn.client == client && conn.link.node == node;
            let Some((conn, _)) = self.conns.iter().find(|(_, conn)| is_it(conn)) else {
                continue;
            };
            let known = self.conns.get_mut(conn);
            if let Some(asked) = known.and_then(|known| known.blocked.take()) {
                self.reply(conn, asked, reply);
                woken.push(conn);
            }
        }
        woken
    }

    pub(super) fn remember(&mut self, link: LinkId, asked: &Asked, at_ns: u64) {
        let Some(key) = asked.key else { return };
        let nodes = self.nodes.len();
        let worker = self.worker(link.worker);
        // Most attempts have two commands for each node.
        let last = worker.attempt(asked.op, 2 * nodes);
        let kind = (asked.phase, key, link.node);
        match last
            .iter_mut()
            .find(|last| (last.0, last.1, last.2) == kind)
        {
            Some(known) => known.3 = at_ns,
            None => last.push((asked.phase, key, link.node, at_ns)),
        }
        if worker.last.len() > REMEMBERED {
            worker.last.pop_front();
        }
    }

    /// Throws a connection away; whoever waits on it must be told.
    pub(super) fn forget(&mut self, conn: u64) -> Option<Box<Conn>> {
        let known = self.conns.remove(conn)?;
        self.nodes[known.link.node].disconnect(known.client);
        Some(known)
    }
}

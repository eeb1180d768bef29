//! What the network knows: nodes, connections, what is on its way, and who is busy with what.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use memchr::memmem::Finder;
use picklock_scenarios::{Direction, Phase};
use rand::rngs::StdRng;

use super::network::Way;
use super::node::Node;
use super::port::{Args, Lost};
use super::traffic::{Agenda, Arrival, Asked, Cargo, Conn, Frame, Outlet};
use crate::model::Reply;
use crate::wire::{Gate, LinkId};

/// Attempts of one worker whose last commands are remembered.
const REMEMBERED: usize = 1024;

/// The last command of its kind: phase, key, node, and when it arrived there.
type Last = (Phase, u32, usize, u64);

/// What the network knows.
pub(super) struct Ledger {
    pub(super) nodes: Vec<Node>,
    pub(super) conns: BTreeMap<u64, Conn>,
    /// Connections that were reset, and that their clients have not thrown away yet.
    pub(super) broken: BTreeSet<u64>,
    pub(super) agenda: Agenda,
    pub(super) entropy: StdRng,
    /// What each worker is busy with.
    phases: BTreeMap<usize, (u64, Phase)>,
    /// For each worker and attempt, the last commands that named a key.
    last: BTreeMap<usize, BTreeMap<u64, Vec<Last>>>,
    keys: Vec<Finder<'static>>,
    /// Frames at gates whose tasks have not been started.
    pub(super) gates: Vec<(Way, Gate)>,
}

impl Ledger {
    pub(super) fn new(nodes: Vec<Node>, keys: &[String], entropy: StdRng) -> Self {
        let keys = keys.iter();
        Ledger {
            nodes,
            conns: BTreeMap::new(),
            broken: BTreeSet::new(),
            agenda: Agenda::default(),
            entropy,
            phases: BTreeMap::new(),
            last: BTreeMap::new(),
            keys: keys
                .map(|key| Finder::new(key.as_bytes()).into_owned())
                .collect(),
            gates: Vec::new(),
        }
    }

    pub(super) fn set_phase(&mut self, worker: usize, op: u64, phase: Phase) {
        self.phases.insert(worker, (op, phase));
    }

    /// When the worker's last command of this attempt and phase that names the key arrived. Of
    /// several nodes the one counts that was done with first: a quorum may have let the lock go
    /// while the command to another node was still on its way.
    pub(super) fn last_command_ns(
        &self,
        worker: usize,
        op: u64,
        phase: Phase,
        key: u32,
    ) -> Option<u64> {
        let last = self.last.get(&worker)?.get(&op)?.iter();
        let matching = last.filter(|last| (last.0, last.1) == (phase, key));
        matching.map(|last| last.3).min()
    }

    pub(super) fn asked(&self, worker: usize, args: &Args) -> Asked {
        let name = args.iter().next().unwrap_or_default();
        let (op, phase) = self
            .phases
            .get(&worker)
            .copied()
            .unwrap_or((0, Phase::Idle));
        let named = self
            .keys
            .iter()
            .position(|key| key.find(args.data()).is_some());
        Asked {
            name: String::from_utf8_lossy(name).to_ascii_uppercase(),
            key: named.and_then(|key| u32::try_from(key).ok()),
            op,
            phase,
        }
    }

    pub(super) fn connect(
        &mut self,
        conn: u64,
        link: LinkId,
        outlet: impl Fn(Direction) -> Outlet,
    ) -> &mut Conn {
        let nodes = &mut self.nodes;
        self.conns.entry(conn).or_insert_with(|| Conn {
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
        if let Some(known) = self.conns.get_mut(&conn) {
            let cargo = Cargo::Reply(reply);
            known.reply.coming.push_back(Frame { conn, asked, cargo });
        }
    }

    /// A reply has arrived at its client.
    pub(super) fn hand_over(&mut self, frame: Frame) {
        let known = self.conns.get_mut(&frame.conn);
        let waiting = known.and_then(|known| known.waiting.pop_front());
        if let (Some(answered), Cargo::Reply(reply)) = (waiting, frame.cargo) {
            // Whoever gave up waiting does not want to know.
            answered.send(Ok(reply)).unwrap_or_default();
        }
    }

    /// A command has to wait at its node, perhaps for so long and no longer.
    pub(super) fn block(&mut self, conn: u64, asked: Asked, at_ns: u64) {
        let Some(known) = self.conns.get_mut(&conn) else {
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
            let mut conns = self.conns.iter_mut();
            let waiting = conns.find_map(|(conn, known)| {
                let is_it = known.client == client && known.link.node == node;
                let blocked = is_it.then(|| known.blocked.take()).flatten();
                blocked.map(|asked| (*conn, asked))
            });
            if let Some((conn, asked)) = waiting {
                self.reply(conn, asked, reply);
                woken.push(conn);
            }
        }
        woken
    }

    pub(super) fn remember(&mut self, link: LinkId, asked: &Asked, at_ns: u64) {
        let Some(key) = asked.key else { return };
        let attempts = self.last.entry(link.worker).or_default();
        let last = attempts.entry(asked.op).or_default();
        let kind = (asked.phase, key, link.node);
        match last
            .iter_mut()
            .find(|last| (last.0, last.1, last.2) == kind)
        {
            Some(known) => known.3 = at_ns,
            None => last.push((asked.phase, key, link.node, at_ns)),
        }
        if attempts.len() > REMEMBERED {
            attempts.pop_first();
        }
    }

    pub(super) fn forget_quietly(&mut self, conn: u64) -> Option<Conn> {
        let known = self.conns.remove(&conn)?;
        self.nodes[known.link.node].disconnect(known.client);
        Some(known)
    }

    pub(super) fn forget(&mut self, conn: u64) {
        if let Some(known) = self.forget_quietly(conn) {
            known.fail(Lost::Reset);
        }
    }
}

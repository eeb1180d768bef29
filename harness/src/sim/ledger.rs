//! What the network knows: nodes, connections, what is on its way, and who is busy with what.

use std::collections::{BTreeMap, VecDeque};

use memchr::memmem::Finder;
use picklock_scenarios::{Direction, Phase};
use rand::rngs::StdRng;

use super::network::Way;
use super::node::Node;
use super::port::{Answered, Args, Lost};
use super::traffic::{Agenda, Asked, Cargo, Conn, Frame, Leaving, Outlet};
use crate::model::{ClientId, Reply};
use crate::wire::{Gate, LinkId};

/// Attempts of one worker whose last commands are remembered.
const REMEMBERED: usize = 4096;

/// A command as the checkers ask for it: attempt, phase, key, and when it arrived.
type Last = (u64, Phase, u32, u64);

/// What the network knows.
pub(super) struct Ledger {
    pub(super) nodes: Vec<Node>,
    pub(super) conns: BTreeMap<u64, Conn>,
    pub(super) agenda: Agenda,
    pub(super) entropy: StdRng,
    /// What each worker is busy with.
    phases: BTreeMap<usize, (u64, Phase)>,
    /// For each worker, its last commands that named a key.
    last: BTreeMap<usize, VecDeque<Last>>,
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

    /// When the worker's last command of this attempt and phase that names the key arrived.
    pub(super) fn last_command_ns(
        &self,
        worker: usize,
        op: u64,
        phase: Phase,
        key: u32,
    ) -> Option<u64> {
        let last = self.last.get(&worker)?.iter().rev();
        let mut matching = last.filter(|last| (last.0, last.1, last.2) == (op, phase, key));
        matching.next().map(|last| last.3)
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
            in_vain: Vec::new(),
            blocked: VecDeque::new(),
        })
    }

    pub(super) fn keep_in_vain(&mut self, frame: Frame) {
        let answered = frame.cargo.into_answered();
        if let Some(conn) = self.conns.get_mut(&frame.conn) {
            conn.in_vain.push(answered);
        }
    }

    pub(super) fn reply(&mut self, conn: u64, asked: Asked, reply: Reply, answered: Answered) {
        if let Some(known) = self.conns.get_mut(&conn) {
            known.reply.queue.push_back(Leaving {
                frame: Frame {
                    conn,
                    asked,
                    cargo: Cargo::Reply { reply, answered },
                },
                seen: false,
                ruling: None,
            });
        }
    }

    /// Gives late replies to whoever waits for them; the connections that got one.
    pub(super) fn answer_blocked(
        &mut self,
        node: usize,
        messages: Vec<(ClientId, Reply)>,
    ) -> Vec<u64> {
        let mut woken = Vec::new();
        for (client, reply) in messages {
            let mut conns = self.conns.iter_mut();
            let waiting = conns.find_map(|(conn, known)| {
                let is_it = known.client == client && known.link.node == node;
                let blocked = is_it.then(|| known.blocked.pop_front()).flatten();
                blocked.map(|(asked, answered)| (*conn, asked, answered))
            });
            if let Some((conn, asked, answered)) = waiting {
                self.reply(conn, asked, reply, answered);
                woken.push(conn);
            }
        }
        woken
    }

    pub(super) fn remember(&mut self, worker: usize, asked: &Asked, at_ns: u64) {
        let Some(key) = asked.key else { return };
        let last = self.last.entry(worker).or_default();
        last.push_back((asked.op, asked.phase, key, at_ns));
        if last.len() > REMEMBERED {
            last.pop_front();
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

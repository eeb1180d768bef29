//! The simulated network: carries commands to nodes and replies back, through gates and faults.
//!
//! It is one task. Connections hand their commands over at the [`Port`]; each goes through the
//! outlet of its direction (watcher, gate, faults: the same as on the real wire), travels for a
//! time that is drawn from the seed, and is carried out by its node when it arrives.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use memchr::memmem::Finder;
use picklock_scenarios::{Direction, Phase};
use rand::RngExt;
use rand::rngs::StdRng;

use super::node::Node;
use super::port::{Answered, Args, Handed, Lost, Port};
use super::traffic::{Agenda, Arrival, Asked, Cargo, Conn, Frame, Leaving, Outlet};
use crate::clock::Clock;
use crate::model::Reply;
use crate::wire::{Faults, Gate, LinkId, Sight, Watcher};

/// How long a message travels, one way: as between machines of one data centre.
const LATENCY: std::ops::Range<u64> = 50_000..250_000;

/// Attempts of one worker whose last commands are remembered.
const REMEMBERED: usize = 4096;

/// Which connection, and which way.
type Way = (u64, Direction);

/// The network of one simulation.
pub(super) struct Network {
    state: RefCell<State>,
    pub(super) port: Arc<Port>,
    pub(super) faults: Arc<Faults>,
    watcher: Arc<dyn Watcher>,
    /// The simulation's own clock, which is never set to zero.
    clock: Clock,
    /// The run's clock, which is.
    run_clock: Clock,
    seed: u64,
}

/// A command as the checkers ask for it: attempt, phase, key, and when it arrived.
type Last = (u64, Phase, u32, u64);

struct State {
    nodes: Vec<Node>,
    conns: BTreeMap<u64, Conn>,
    agenda: Agenda,
    entropy: StdRng,
    /// What each worker is busy with.
    phases: BTreeMap<usize, (u64, Phase)>,
    /// For each worker, its last commands that named a key.
    last: BTreeMap<usize, VecDeque<Last>>,
    keys: Vec<Finder<'static>>,
    /// Frames at gates whose tasks have not been started.
    gates: Vec<(Way, Gate)>,
}

/// What a network is made of.
pub(super) struct Wiring {
    pub(super) nodes: Vec<Node>,
    pub(super) keys: Vec<String>,
    pub(super) seed: u64,
    pub(super) watcher: Arc<dyn Watcher>,
    pub(super) clock: Clock,
    pub(super) run_clock: Clock,
}

impl Network {
    pub(super) fn new(wiring: Wiring) -> Rc<Self> {
        let keys = wiring.keys.iter();
        Rc::new(Network {
            state: RefCell::new(State {
                nodes: wiring.nodes,
                conns: BTreeMap::new(),
                agenda: Agenda::default(),
                entropy: crate::entropy::stream(wiring.seed, "network", 0),
                phases: BTreeMap::new(),
                last: BTreeMap::new(),
                keys: keys
                    .map(|key| Finder::new(key.as_bytes()).into_owned())
                    .collect(),
                gates: Vec::new(),
            }),
            port: Port::new(),
            faults: Arc::new(Faults::new()),
            watcher: wiring.watcher,
            clock: wiring.clock,
            run_clock: wiring.run_clock,
            seed: wiring.seed,
        })
    }

    /// Carries messages for as long as it is polled.
    pub(super) async fn carry(self: Rc<Self>) {
        let mut gates = FuturesUnordered::new();
        loop {
            self.take_in();
            self.deliver();
            for (way, gate) in std::mem::take(&mut self.state.borrow_mut().gates) {
                gates.push(async move {
                    gate.await;
                    way
                });
            }
            let next_ns = self.state.borrow().agenda.next_ns();
            let arrival = async {
                match next_ns {
                    Some(at_ns) => tokio::time::sleep_until(self.clock.instant(at_ns)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(way) = gates.next() => self.gate_opened(way),
                () = self.port.rung() => {}
                () = arrival => {}
            }
        }
    }

    fn take_in(&self) {
        for handed in self.port.take() {
            match handed {
                Handed::Command {
                    conn,
                    link,
                    args,
                    answered,
                } => self.send_command(conn, link, args, answered),
                Handed::Close { conn } => self.close(conn),
            }
        }
    }

    fn send_command(&self, conn: u64, link: LinkId, args: Args, answered: Answered) {
        let now_ns = self.clock.now_ns();
        let mut state = self.state.borrow_mut();
        let asked = state.asked(link.worker, &args);
        let known = state.connect(conn, link, |direction| {
            Outlet::new(self.faults.view(link, conn, Some(direction), self.seed))
        });
        known.request.queue.push_back(Leaving {
            frame: Frame {
                conn,
                asked,
                cargo: Cargo::Command { args, answered },
            },
            seen: false,
            ruling: None,
        });
        drop(state);
        self.let_go((conn, Direction::Request), now_ns);
    }

    fn close(&self, conn: u64) {
        let mut state = self.state.borrow_mut();
        let Some(known) = state.conns.get(&conn) else {
            return;
        };
        // It arrives after everything that was sent before it.
        let at_ns = known.request.last_ns.max(self.clock.now_ns()) + LATENCY.end;
        state.agenda.add(at_ns, u32::MAX, Arrival::Closed(conn));
    }

    fn gate_opened(&self, way: Way) {
        let mut state = self.state.borrow_mut();
        if let Some(conn) = state.conns.get_mut(&way.0) {
            conn.outlet(way.1).gated = false;
        }
        drop(state);
        self.let_go(way, self.clock.now_ns());
    }

    /// Lets go of everything at the head of an outlet that nothing keeps back.
    fn let_go(&self, way: Way, now_ns: u64) {
        while self.let_one_go(way, now_ns) {}
    }

    /// False: nothing more can leave for now.
    fn let_one_go(&self, way: Way, now_ns: u64) -> bool {
        let (conn, direction) = way;
        let mut state = self.state.borrow_mut();
        let State {
            conns,
            agenda,
            entropy,
            gates,
            ..
        } = &mut *state;
        let Some(known) = conns.get_mut(&conn) else {
            return false;
        };
        let link = known.link;
        let outlet = known.outlet(direction);
        if outlet.gated {
            return false;
        }
        let Some(head) = outlet.queue.front_mut() else {
            return false;
        };
        if !head.seen {
            head.seen = true;
            if let Some(gate) = self.gate(link, &head.frame) {
                outlet.gated = true;
                gates.push((way, gate));
                self.port.ring();
                return false;
            }
        }
        let ruling = head.ruling.get_or_insert_with(|| outlet.view.rule(false));
        if !ruling.drop {
            let stopped = outlet.view.is_partitioned(!outlet.stopped);
            outlet.stopped = stopped;
            if stopped || outlet.view.holds(&ruling.holds) {
                return false;
            }
        }
        let Some(Leaving {
            frame,
            ruling: Some(ruling),
            ..
        }) = outlet.queue.pop_front()
        else {
            return false;
        };
        if ruling.drop {
            let (Cargo::Command { answered, .. } | Cargo::Reply { answered, .. }) = frame.cargo;
            known.in_vain.push(answered);
            return true;
        }
        let delay = u64::try_from(ruling.delay.as_nanos()).unwrap_or(u64::MAX / 4);
        let travels = entropy.random_range(LATENCY) + delay;
        let at_ns = (now_ns + travels).max(outlet.last_ns + 1);
        outlet.last_ns = at_ns;
        agenda.add(at_ns, entropy.random(), Arrival::Frame(frame));
        true
    }

    fn gate(&self, link: LinkId, frame: &Frame) -> Option<Gate> {
        if !self.watcher.armed() {
            return None;
        }
        self.watcher.sight(&Sight {
            at_ns: self.run_clock.now_ns(),
            link,
            conn: frame.conn,
            direction: frame.direction(),
            command: &frame.asked.name,
            key: frame.asked.key,
            op: frame.asked.op,
            phase: frame.asked.phase,
        })
    }

    fn deliver(&self) {
        let now_ns = self.clock.now_ns();
        loop {
            let arrived = self.state.borrow_mut().agenda.pop(now_ns);
            match arrived {
                Some((at_ns, Arrival::Frame(frame))) => self.arrive(at_ns, frame),
                Some((_, Arrival::Closed(conn))) => self.state.borrow_mut().forget(conn),
                Some((_, Arrival::Refused(conn))) => self.break_off(&[conn], Lost::Refused),
                None => return,
            }
        }
    }

    fn arrive(&self, at_ns: u64, frame: Frame) {
        let mut state = self.state.borrow_mut();
        let Some(link) = state.conns.get(&frame.conn).map(|conn| conn.link) else {
            // The connection broke while the frame was on its way; its client was told.
            return;
        };
        match frame.cargo {
            Cargo::Reply { reply, answered } => {
                // Whoever gave up waiting does not want to know.
                answered.send(Ok(reply)).unwrap_or_default();
            }
            Cargo::Command { .. } => {
                let node = &mut state.nodes[link.node];
                if !node.up {
                    let conn = frame.conn;
                    let back = at_ns + LATENCY.start;
                    state.keep_in_vain(frame);
                    state.agenda.add(back, 0, Arrival::Refused(conn));
                } else if node.paused {
                    node.backlog.push_back(frame);
                } else {
                    drop(state);
                    self.carry_out(at_ns, link, frame);
                }
            }
        }
    }

    fn carry_out(&self, at_ns: u64, link: LinkId, frame: Frame) {
        let Frame { conn, asked, cargo } = frame;
        let Cargo::Command { args, answered } = cargo else {
            return;
        };
        let mut state = self.state.borrow_mut();
        let Some(client) = state.conns.get(&conn).map(|known| known.client) else {
            return;
        };
        state.remember(link.worker, &asked, self.run_ns(at_ns));
        let words: Vec<&[u8]> = args.iter().collect();
        let reply = state.nodes[link.node].execute(client, &words, at_ns);
        let messages = state.nodes[link.node].messages();
        if matches!(reply, Reply::Blocked) {
            if let Some(known) = state.conns.get_mut(&conn) {
                known.blocked.push_back((asked, answered));
            }
        } else {
            state.reply(conn, asked, reply, answered);
        }
        let woken = state.answer_blocked(link.node, messages);
        drop(state);
        self.let_go((conn, Direction::Reply), at_ns);
        for conn in woken {
            self.let_go((conn, Direction::Reply), at_ns);
        }
    }

    /// The run's time at a time of the simulation that is not later than now.
    fn run_ns(&self, at_ns: u64) -> u64 {
        let ago = self.clock.now_ns().saturating_sub(at_ns);
        self.run_clock.now_ns().saturating_sub(ago)
    }

    /// Looks at every outlet again: faults have come or gone.
    pub(super) fn look_again(&self) {
        let conns: Vec<u64> = self.state.borrow().conns.keys().copied().collect();
        let now_ns = self.clock.now_ns();
        for conn in conns {
            self.let_go((conn, Direction::Request), now_ns);
            self.let_go((conn, Direction::Reply), now_ns);
        }
        self.port.ring();
    }

    /// Resets the connections of links.
    pub(super) fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) {
        let lists = |list: Option<&[usize]>, one| list.is_none_or(|list| list.contains(&one));
        let hit: Vec<u64> = {
            let state = self.state.borrow();
            let hit = state.conns.iter().filter(|(_, conn)| {
                lists(workers, conn.link.worker) && lists(nodes, conn.link.node)
            });
            hit.map(|(conn, _)| *conn).collect()
        };
        self.break_off(&hit, Lost::Reset);
    }

    fn break_off(&self, conns: &[u64], lost: Lost) {
        let mut state = self.state.borrow_mut();
        for conn in conns {
            if let Some(known) = state.forget_quietly(*conn) {
                known.fail(lost);
            }
        }
    }

    /// Lets a paused node answer what came meanwhile.
    pub(super) fn resume(&self, node: usize) {
        let now_ns = self.clock.now_ns();
        let backlog = {
            let mut state = self.state.borrow_mut();
            state.nodes[node].paused = false;
            std::mem::take(&mut state.nodes[node].backlog)
        };
        for frame in backlog {
            self.arrive(now_ns, frame);
        }
        self.port.ring();
    }

    /// Changes a node, at the present time of the simulation.
    pub(super) fn with_node<T>(&self, node: usize, work: impl FnOnce(&mut Node, u64) -> T) -> T {
        work(
            &mut self.state.borrow_mut().nodes[node],
            self.clock.now_ns(),
        )
    }

    pub(super) fn set_phase(&self, worker: usize, op: u64, phase: Phase) {
        self.state.borrow_mut().phases.insert(worker, (op, phase));
    }

    pub(super) fn last_command_ns(
        &self,
        worker: usize,
        op: u64,
        phase: Phase,
        key: u32,
    ) -> Option<u64> {
        let state = self.state.borrow();
        let last = state.last.get(&worker)?.iter().rev();
        let mut matching = last.filter(|last| (last.0, last.1, last.2) == (op, phase, key));
        matching.next().map(|last| last.3)
    }

    /// Commands that no node knew.
    pub(super) fn unknown_commands(&self) -> BTreeSet<String> {
        let state = self.state.borrow();
        state
            .nodes
            .iter()
            .flat_map(Node::unknown)
            .cloned()
            .collect()
    }

    /// How long the longest journey without faults takes.
    pub(super) fn slowest() -> Duration {
        Duration::from_nanos(LATENCY.end)
    }
}

impl State {
    fn asked(&self, worker: usize, args: &Args) -> Asked {
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

    fn connect(
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

    fn keep_in_vain(&mut self, frame: Frame) {
        let (Cargo::Command { answered, .. } | Cargo::Reply { answered, .. }) = frame.cargo;
        if let Some(conn) = self.conns.get_mut(&frame.conn) {
            conn.in_vain.push(answered);
        }
    }

    fn reply(&mut self, conn: u64, asked: Asked, reply: Reply, answered: Answered) {
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
    fn answer_blocked(
        &mut self,
        node: usize,
        messages: Vec<(crate::model::ClientId, Reply)>,
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

    fn remember(&mut self, worker: usize, asked: &Asked, at_ns: u64) {
        let Some(key) = asked.key else { return };
        let last = self.last.entry(worker).or_default();
        last.push_back((asked.op, asked.phase, key, at_ns));
        if last.len() > REMEMBERED {
            last.pop_front();
        }
    }

    fn forget_quietly(&mut self, conn: u64) -> Option<Conn> {
        let known = self.conns.remove(&conn)?;
        self.nodes[known.link.node].disconnect(known.client);
        Some(known)
    }

    fn forget(&mut self, conn: u64) {
        if let Some(known) = self.forget_quietly(conn) {
            known.fail(Lost::Reset);
        }
    }
}

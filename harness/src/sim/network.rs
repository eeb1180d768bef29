//! The simulated network: carries commands to nodes and replies back, through gates and faults.
//!
//! It is one task. Connections hand their commands over at the [`Port`]; each goes through the
//! outlet of its direction (watcher, gate, faults: the same as on the real wire), travels for a
//! time that is drawn from the seed, and is carried out by its node when it arrives.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use picklock_scenarios::{Direction, Phase};

use super::alarm::Alarm;
use super::args::Args;
use super::desk::{Handed, Place};
use super::ledger::Ledger;
use super::node::Node;
use super::port::{Lost, Port};
use super::traffic::{Asked, Cargo, Frame, Outlet};
use crate::clock::Clock;
use crate::wire::{Faults, LinkId, Outcome, Watcher, WireLog};

/// How long a message travels, one way: as between machines of one data centre.
pub(super) const LATENCY: std::ops::Range<u64> = 50_000..250_000;

/// Which connection, and which way.
pub(super) type Way = (u64, Direction);

/// Gates that have not opened yet, and what stands before them.
type Gates = FuturesUnordered<LocalBoxFuture<'static, Way>>;

/// The network is carried; when that ends, nobody needs to call it.
struct Carrying(Port);

impl Drop for Carrying {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// The network of one simulation.
pub(super) struct Network {
    pub(super) ledger: RefCell<Ledger>,
    pub(super) port: Port,
    pub(super) faults: Arc<Faults>,
    pub(super) watcher: Arc<dyn Watcher>,
    /// The simulation's own clock, which is never set to zero.
    pub(super) clock: Clock,
    /// The run's clock, which is.
    pub(super) run_clock: Clock,
    seed: u64,
    /// What passes is written down here, if anybody wants to know.
    pub(super) log: Option<WireLog>,
    /// For what will be handed over next.
    spare: Cell<Vec<Handed>>,
    /// Commands that were carried out, and whose room can be used again.
    pub(super) used: RefCell<Vec<Args>>,
}

/// What a network is made of.
pub(super) struct Wiring {
    pub(super) nodes: Vec<Node>,
    pub(super) keys: Vec<String>,
    pub(super) seed: u64,
    pub(super) watcher: Arc<dyn Watcher>,
    pub(super) clock: Clock,
    pub(super) run_clock: Clock,
    pub(super) log: Option<WireLog>,
}

impl Network {
    pub(super) fn new(wiring: Wiring) -> Rc<Self> {
        let entropy = crate::entropy::stream(wiring.seed, "network", 0);
        Rc::new(Network {
            ledger: RefCell::new(Ledger::new(wiring.nodes, &wiring.keys, entropy)),
            port: Port::new(),
            faults: Arc::new(Faults::new()),
            watcher: wiring.watcher,
            clock: wiring.clock,
            run_clock: wiring.run_clock,
            seed: wiring.seed,
            log: wiring.log,
            spare: Cell::default(),
            used: RefCell::default(),
        })
    }

    /// Carries messages for as long as it is polled.
    pub(super) async fn carry(self: Rc<Self>) {
        let _carrying = Carrying(self.port);
        let (mut gates, mut alarm) = (Gates::new(), Alarm::new(&self.clock));
        std::future::poll_fn(|context| {
            while self.turn(&mut gates, &mut alarm, context) {}
            Poll::Pending
        })
        .await
    }

    /// Does what there is to do now. True: there is more already.
    fn turn(&self, gates: &mut Gates, alarm: &mut Alarm, context: &mut Context<'_>) -> bool {
        let now_ns = self.clock.now_ns();
        self.take_in(now_ns);
        self.deliver(now_ns);
        let too_late = self.port.time_out(now_ns);
        let arrives = {
            let mut ledger = self.ledger.borrow_mut();
            let closed = ledger.gates.drain(..);
            gates.extend(closed.map(|(way, gate)| gate.map(move |()| way).boxed_local()));
            ledger.agenda.next_ns()
        };
        if !gates.is_empty()
            && let Poll::Ready(Some(way)) = gates.poll_next_unpin(context)
        {
            self.gate_opened(way, now_ns);
            return true;
        }
        if self.port.is_rung(context) {
            return true;
        }
        let next_ns = arrives.into_iter().chain(too_late).min();
        next_ns.is_some_and(|at_ns| alarm.is_over(at_ns, context))
    }

    fn take_in(&self, now_ns: u64) {
        let used = &mut self.used.borrow_mut();
        let mut handed = self.port.take(self.spare.take(), used);
        for handed in handed.drain(..) {
            match handed {
                Handed::Command {
                    conn,
                    link,
                    args,
                    place,
                } => self.send_command(conn, link, (args, place), now_ns),
                Handed::Close { conn } => self.close(conn, now_ns),
            }
        }
        self.spare.replace(handed);
    }

    fn send_command(&self, conn: u64, link: LinkId, asks: (Args, Place), now_ns: u64) {
        let (args, place) = asks;
        let mut ledger = self.ledger.borrow_mut();
        if ledger.broken.contains(&conn) {
            drop(ledger);
            self.port.answer(place, Err(Lost::Reset));
            return;
        }
        let asked = ledger.asked(link.worker, &args);
        let known = ledger.connect(conn, link, |direction| {
            Outlet::new(self.faults.view(link, conn, Some(direction), self.seed))
        });
        known.waiting.push_back(place);
        let cargo = Cargo::Command(args);
        self.send(ledger, Frame { conn, asked, cargo }, now_ns);
    }

    /// What was sent before it goes before it, also where that is kept back.
    fn close(&self, conn: u64, now_ns: u64) {
        let mut ledger = self.ledger.borrow_mut();
        ledger.broken.remove(&conn);
        let frame = Frame {
            conn,
            asked: Asked::nothing(),
            cargo: Cargo::Close,
        };
        self.send(ledger, frame, now_ns);
    }

    fn gate_opened(&self, way: Way, now_ns: u64) {
        let mut ledger = self.ledger.borrow_mut();
        if let Some(conn) = ledger.conns.get_mut(way.0) {
            conn.outlet(way.1).gated = false;
        }
        drop(ledger);
        self.let_go(way, now_ns);
    }

    /// Looks at every outlet again where something waits: faults have come or gone.
    pub(super) fn look_again(&self) {
        let mut waiting = Vec::new();
        for (conn, known) in self.ledger.borrow().conns.iter() {
            let outlets = [&known.request, &known.reply];
            for (outlet, way) in outlets
                .into_iter()
                .zip([Direction::Request, Direction::Reply])
            {
                if !outlet.is_empty() {
                    waiting.push((conn, way));
                }
            }
        }
        let now_ns = self.clock.now_ns();
        for way in waiting {
            self.let_go(way, now_ns);
        }
        self.port.ring();
    }

    /// Resets the connections of links.
    pub(super) fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) {
        let lists = |list: Option<&[usize]>, one| list.is_none_or(|list| list.contains(&one));
        let hit: Vec<u64> = {
            let ledger = self.ledger.borrow();
            let hit = ledger.conns.iter().filter(|(_, conn)| {
                lists(workers, conn.link.worker) && lists(nodes, conn.link.node)
            });
            hit.map(|(conn, _)| conn).collect()
        };
        self.break_off(&hit, Lost::Reset);
    }

    pub(super) fn break_off(&self, conns: &[u64], lost: Lost) {
        for conn in conns {
            let mut ledger = self.ledger.borrow_mut();
            if let Some(known) = ledger.forget(*conn) {
                ledger.broken.insert(*conn);
                drop(ledger);
                self.note_lost(*conn, &known, self.clock.now_ns() + 1, Outcome::Cut);
                known.fail(self.port, lost);
            }
        }
    }

    /// Lets a paused node answer what came meanwhile.
    pub(super) fn resume(&self, node: usize) {
        let now_ns = self.clock.now_ns();
        let backlog = {
            let mut ledger = self.ledger.borrow_mut();
            ledger.nodes[node].paused = false;
            std::mem::take(&mut ledger.nodes[node].backlog)
        };
        for frame in backlog {
            self.arrive(now_ns, frame);
        }
        self.time_out(now_ns, node);
        self.port.ring();
    }

    /// Ends the blocking commands that have waited long enough: the node's clock has leapt.
    pub(super) fn look_at_waits(&self, node: usize) {
        self.time_out(self.clock.now_ns(), node);
        self.port.ring();
    }

    /// Changes a node, at the present time of the simulation.
    pub(super) fn with_node<T>(&self, node: usize, work: impl FnOnce(&mut Node, u64) -> T) -> T {
        work(
            &mut self.ledger.borrow_mut().nodes[node],
            self.clock.now_ns(),
        )
    }

    pub(super) fn set_phase(&self, worker: usize, op: u64, phase: Phase) {
        self.ledger.borrow_mut().set_phase(worker, op, phase);
    }

    pub(super) fn last_command_ns(
        &self,
        worker: usize,
        op: u64,
        phase: Phase,
        key: u32,
    ) -> Option<u64> {
        let ledger = self.ledger.borrow();
        let at_ns = ledger.last_command_ns(worker, op, phase, key)?;
        Some(self.run_ns(at_ns))
    }

    /// The run's time at a time of the simulation that is not later than now.
    fn run_ns(&self, at_ns: u64) -> u64 {
        let ago = self.clock.now_ns().saturating_sub(at_ns);
        self.run_clock.now_ns().saturating_sub(ago)
    }

    /// Commands that no node knew.
    pub(super) fn unknown_commands(&self) -> BTreeSet<String> {
        let ledger = self.ledger.borrow();
        ledger
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

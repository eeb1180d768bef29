//! The simulated network: carries commands to nodes and replies back, through gates and faults.
//!
//! It is one task. Connections submit their commands at the [`ClientEndpoint`]. Each command passes
//! the interceptor and the link's faults, which are the same as on the real proxy, travels for a
//! time that is drawn from the seed, and is executed by its node when it arrives.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use picklock_scenarios::Direction;

use super::args::Args;
use super::client_endpoint::ClientEndpoint;
use super::connection_state::{ConnectionDirection, Path};
use super::frame::{CommandTag, Frame, Payload};
use super::network_state::NetworkState;
use super::node::Node;
use super::node_observer::NodeStep;
use super::run_budget::RunBudget;
use super::submission_queue::{RequestError, RequestId, Submission};
use super::timer::Timer;
use crate::clock::Clock;
use crate::history::{Event, KeyChange, KeyCommand};
use crate::key_history::KeyRecord;
use crate::model::Reply;
use crate::proxy::{
    Answered, CommandLog, FrameOutcome, ImposedFaults, Interceptor, LinkId, LinkState, SentRequests,
};
use crate::spec::RunSpec;

/// How long a frame travels one way, in nanoseconds: as between machines of one data centre.
pub(super) const LATENCY: std::ops::Range<u64> = 50_000..250_000;

/// The gates that are not open yet, and the direction that waits at each.
type Gates = FuturesUnordered<LocalBoxFuture<'static, ConnectionDirection>>;

/// While it lives, submissions wake the network.
struct NetworkGuard(ClientEndpoint);

impl Drop for NetworkGuard {
    fn drop(&mut self) {
        self.0.detach_network();
    }
}

pub(super) struct Network {
    pub(super) state: RefCell<NetworkState>,
    pub(super) endpoint: ClientEndpoint,
    pub(super) faults: Arc<ImposedFaults>,
    pub(super) interceptor: Arc<dyn Interceptor>,
    /// The simulation's own clock, which is never set to zero.
    pub(super) clock: Clock,
    /// The run's clock, which is.
    pub(super) run_clock: Clock,
    seed: u64,
    /// Where what passes is logged, if a log is wanted.
    pub(super) log: Option<CommandLog>,
    /// What was sent to the nodes, if somebody observes them.
    pub(super) sent: Option<Rc<SentRequests>>,
    /// An empty buffer for the next submissions.
    spare: Cell<Vec<Submission>>,
    /// Buffers of commands that were executed, to be reused.
    pub(super) used: RefCell<Vec<Args>>,
    budget: Rc<RunBudget>,
}

impl Network {
    /// `sent`: where what is sent is kept, if somebody observes the nodes.
    pub(super) fn new(
        spec: &RunSpec,
        nodes: Vec<Node>,
        interceptor: Arc<dyn Interceptor>,
        clock: Clock,
        run_clock: Clock,
        (log, sent): (Option<CommandLog>, Option<Rc<SentRequests>>),
        budget: Rc<RunBudget>,
    ) -> Rc<Self> {
        let rng = crate::rng::stream(spec.seed, "network", 0);
        Rc::new(Network {
            state: RefCell::new(NetworkState::new(nodes, &spec.keys(), rng)),
            endpoint: ClientEndpoint::new(),
            faults: Arc::new(ImposedFaults::new()),
            interceptor,
            clock,
            run_clock,
            seed: spec.seed,
            log,
            sent,
            spare: Cell::default(),
            used: RefCell::default(),
            budget,
        })
    }

    /// Carries frames for as long as it is polled.
    pub(super) async fn run(self: Rc<Self>) {
        let _guard = NetworkGuard(self.endpoint);
        let (mut gates, mut timer) = (Gates::new(), Timer::new(&self.clock));
        std::future::poll_fn(|context| {
            while self.turn(&mut gates, &mut timer, context) {}
            Poll::Pending
        })
        .await
    }

    /// Does what there is to do now. True when there is more already.
    fn turn(&self, gates: &mut Gates, timer: &mut Timer, context: &mut Context<'_>) -> bool {
        let now_ns = self.clock.now_ns();
        self.process_submissions(now_ns);
        self.process_events(now_ns);
        let next_timeout = self.endpoint.expire(now_ns);
        let next_event = {
            let mut state = self.state.borrow_mut();
            let new = state.gates.drain(..);
            gates.extend(new.map(|(way, gate)| gate.map(move |()| way).boxed_local()));
            state.events.next_ns()
        };
        if !gates.is_empty()
            && let Poll::Ready(Some(way)) = gates.poll_next_unpin(context)
        {
            self.gate_opened(way, now_ns);
            return true;
        }
        if self.endpoint.is_notified(context) {
            return true;
        }
        let next_ns = next_event.into_iter().chain(next_timeout).min();
        next_ns.is_some_and(|at_ns| timer.poll(at_ns, context))
    }

    fn process_submissions(&self, now_ns: u64) {
        let used = &mut self.used.borrow_mut();
        let mut submitted = self.endpoint.take(self.spare.take(), used);
        for submission in submitted.drain(..) {
            match submission {
                Submission::Command {
                    conn,
                    link,
                    args,
                    request,
                } => self.send_command(conn, link, (args, request), now_ns),
                Submission::Close { conn } => self.close(conn, now_ns),
            }
        }
        self.spare.replace(submitted);
    }

    fn send_command(&self, conn: u64, link: LinkId, command: (Args, RequestId), now_ns: u64) {
        let (args, request) = command;
        let mut state = self.state.borrow_mut();
        self.budget.count_command(|| key_changes(&state.nodes));
        if state.broken.contains(&conn) {
            drop(state);
            self.endpoint.complete(request, Err(RequestError::Reset));
            return;
        }
        let tag = state.tag(link.worker, &args, now_ns);
        let connection = state.connect(conn, link, |direction| {
            let rules = self.faults.rules(link, conn, Some(direction), self.seed);
            Path::new(LinkState::new(rules))
        });
        if let Some(sent) = self.sent.as_ref().filter(|_| !connection.established) {
            sent.add_connection_once(conn, link);
        }
        connection.waiting.push_back(request);
        let payload = Payload::Command(args);
        self.send(state, Frame { conn, tag, payload }, now_ns);
    }

    /// The client closes a connection. What it sent before still arrives, even if it is kept back.
    fn close(&self, conn: u64, now_ns: u64) {
        let mut state = self.state.borrow_mut();
        state.broken.remove(&conn);
        let (tag, payload) = (CommandTag::none(), Payload::Close);
        self.send(state, Frame { conn, tag, payload }, now_ns);
    }

    fn gate_opened(&self, way: ConnectionDirection, now_ns: u64) {
        let mut state = self.state.borrow_mut();
        if let Some(connection) = state.connections.get_mut(way.0) {
            connection.path(way.1).gated = false;
        }
        drop(state);
        self.advance(way, now_ns);
    }

    /// Looks at everything that waits again: faults were lifted.
    pub(super) fn look_again(&self) {
        let mut waiting = Vec::new();
        for (conn, connection) in self.state.borrow().connections.iter() {
            let request = (&connection.request, Direction::Request);
            for (path, direction) in [request, (&connection.reply, Direction::Reply)] {
                if !path.is_empty() {
                    waiting.push((conn, direction));
                }
            }
        }
        let now_ns = self.clock.now_ns();
        for way in waiting {
            self.advance(way, now_ns);
        }
        self.endpoint.notify();
    }

    /// Resets the connections of these workers to these nodes (`None`: of all). Returns how many there were.
    pub(super) fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) -> usize {
        self.process_events(self.clock.now_ns());
        let lists = |list: Option<&[usize]>, one| list.is_none_or(|list| list.contains(&one));
        let hit: Vec<u64> = {
            let state = self.state.borrow();
            let hit = state.connections.iter().filter(|(_, conn)| {
                lists(workers, conn.link.worker) && lists(nodes, conn.link.node)
            });
            hit.map(|(conn, _)| conn).collect()
        };
        self.reset(&hit, RequestError::Reset);
        hit.len()
    }

    /// Resets the connections in which something is missing.
    pub(super) fn reset_holes(&self, conns: &[u64]) {
        self.process_events(self.clock.now_ns());
        self.reset(conns, RequestError::Reset);
    }

    /// Resets connections, and tells their clients why.
    pub(super) fn reset(&self, conns: &[u64], error: RequestError) {
        for conn in conns {
            let mut state = self.state.borrow_mut();
            if let Some(removed) = state.remove_connection(*conn) {
                state.broken.insert(*conn);
                drop(state);
                if let Some(sent) = &self.sent {
                    sent.record_close(*conn);
                }
                self.log_lost(*conn, &removed, self.clock.now_ns() + 1, FrameOutcome::Cut);
                removed.fail(self.endpoint, error);
                self.endpoint.end_inbox(*conn);
            }
        }
    }

    /// Resumes a paused node, which processes what came meanwhile.
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
        self.time_out(now_ns, node);
        self.endpoint.notify();
    }

    /// Changes a node, at the present time of the simulation.
    ///
    /// What reached a node before is processed first. The network's times are finer than the timers
    /// that faults go by, so a frame may be due that its task has not carried yet, and a clock that is
    /// set now must not be read by a command of the past.
    pub(super) fn with_node<T>(&self, node: usize, work: impl FnOnce(&mut Node, u64) -> T) -> T {
        let now_ns = self.clock.now_ns();
        self.process_events(now_ns);
        work(&mut self.state.borrow_mut().nodes[node], now_ns)
    }

    /// A frame is about to leave: what is sent is remembered for those who tell what was executed.
    pub(super) fn record_sent(&self, frame: &Frame) {
        let Some(sent) = &self.sent else { return };
        match &frame.payload {
            Payload::Command(args) => {
                let tag = &frame.tag;
                sent.record_words(frame.conn, args.iter(), (tag.op, tag.phase), tag.sent_ns);
            }
            Payload::Close => sent.record_close(frame.conn),
            Payload::Reply(_) | Payload::Publication(_) => {}
        }
    }

    /// A node has answered a connection's oldest unanswered request.
    pub(super) fn record_replied(&self, conn: u64, reply: &Reply, at_ns: u64) {
        let Some(sent) = &self.sent else { return };
        let answered = match reply {
            Reply::Error(text) => Answered::from_error(text.as_bytes()),
            _ => Answered::Done,
        };
        sent.record_reply(conn, at_ns, answered);
    }

    /// The changes of all nodes' keys, as events of the run's history in the order of time.
    pub(super) fn take_key_changes(&self) -> Vec<Event> {
        let now = self.now();
        let mut state = self.state.borrow_mut();
        for (node, it) in state.nodes.iter_mut().enumerate() {
            let event = &|record| now.key_changed(node, record);
            it.observe(NodeStep::HistoryTaken { event }, now.sim_ns);
        }
        let mut events = Vec::with_capacity(key_changes(&state.nodes));
        state.take_key_records(|node, record| {
            events.push(now.key_changed(node, record));
        });
        for (number, node) in state.nodes.iter_mut().enumerate() {
            for undeclared in node.watch.take_undeclared() {
                let at_ns = now.run_ns(undeclared.at_ns());
                let place = events.partition_point(|event: &Event| event.at_ns <= at_ns);
                events.insert(place, undeclared.into_event(number, at_ns));
            }
        }
        events
    }

    pub(super) fn now(&self) -> SimNow {
        SimNow {
            sim_ns: self.clock.now_ns(),
            run_ns: self.run_clock.now_ns(),
        }
    }

    /// Commands that a node did not know.
    pub(super) fn unknown_commands(&self) -> BTreeSet<String> {
        let state = self.state.borrow();
        let unknown = state
            .nodes
            .iter()
            .map(|node| node.server.unknown_commands());
        unknown.flatten().cloned().collect()
    }
}

/// How many changes of keys there were so far.
fn key_changes(nodes: &[Node]) -> usize {
    nodes.iter().map(|node| node.watch.changes()).sum()
}

/// The present on the two clocks of a simulation.
#[derive(Clone, Copy)]
pub(super) struct SimNow {
    pub(super) sim_ns: u64,
    run_ns: u64,
}

impl SimNow {
    /// A time of the simulation in nanoseconds since the run began.
    pub(super) fn run_ns(self, sim_ns: u64) -> u64 {
        self.run_ns
            .saturating_sub(self.sim_ns.saturating_sub(sim_ns))
    }

    fn key_changed(self, node: usize, mut record: KeyRecord) -> Event {
        let at_ns = self.run_ns(record.at_ns);
        if let KeyChange::Command(KeyCommand {
            sent_ns: Some(sent_ns),
            ..
        }) = &mut record.why
        {
            *sent_ns = self.run_ns(*sent_ns);
        }
        record.into_event(node, at_ns)
    }
}

//! The simulated network, which carries commands to nodes and replies to clients, through barriers and faults.
//!
//! The network is one task. Connections submit their commands at the [`ClientEndpoint`]. Each command passes the
//! interceptor and the link's faults, which use the same code as the real proxy. The command then travels for a latency
//! that is drawn from the seed. When it arrives, the node executes it.

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

/// One-way latency of a frame in nanoseconds, typical of machines in one data centre.
pub(super) const LATENCY: std::ops::Range<u64> = 50_000..250_000;

/// The barriers that are not open yet. Each returns the direction of the connection that waits at it.
type Barriers = FuturesUnordered<LocalBoxFuture<'static, ConnectionDirection>>;

/// Detaches the network from the endpoint when it is dropped.
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
    /// The simulation's own clock, which is never reset.
    pub(super) clock: Clock,
    /// The run's clock, which is reset to zero when the clients start.
    pub(super) run_clock: Clock,
    seed: u64,
    /// The command log, if the run has one.
    pub(super) log: Option<CommandLog>,
    /// The commands that were sent to the nodes. `None` if the run is not observed.
    pub(super) sent: Option<Rc<SentRequests>>,
    /// An empty buffer for the next submissions.
    spare: Cell<Vec<Submission>>,
    /// Buffers of executed commands, to be reused.
    pub(super) used: RefCell<Vec<Args>>,
    budget: Rc<RunBudget>,
}

impl Network {
    /// Creates the network. If the run is observed, every sent command is recorded in `sent`.
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

    /// Carries frames. The future never completes.
    pub(super) async fn run(self: Rc<Self>) {
        let _guard = NetworkGuard(self.endpoint);
        let (mut barriers, mut timer) = (Barriers::new(), Timer::new(&self.clock));
        std::future::poll_fn(|context| {
            while self.turn(&mut barriers, &mut timer, context) {}
            Poll::Pending
        })
        .await
    }

    /// Does all work that is due. Returns `true` if more work is due already.
    fn turn(&self, barriers: &mut Barriers, timer: &mut Timer, context: &mut Context<'_>) -> bool {
        let now_ns = self.clock.now_ns();
        self.process_submissions(now_ns);
        self.process_events(now_ns);
        let next_timeout = self.endpoint.expire(now_ns);
        let next_event = {
            let mut state = self.state.borrow_mut();
            let new = state.barriers.drain(..);
            barriers.extend(new.map(|(way, barrier)| barrier.map(move |()| way).boxed_local()));
            state.events.next_ns()
        };
        if !barriers.is_empty()
            && let Poll::Ready(Some(way)) = barriers.poll_next_unpin(context)
        {
            self.barrier_opened(way, now_ns);
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

    /// Closes a connection for its client. Frames that were sent earlier still arrive, even if a fault delays them.
    fn close(&self, conn: u64, now_ns: u64) {
        let mut state = self.state.borrow_mut();
        state.broken.remove(&conn);
        let (tag, payload) = (CommandTag::none(), Payload::Close);
        self.send(state, Frame { conn, tag, payload }, now_ns);
    }

    fn barrier_opened(&self, way: ConnectionDirection, now_ns: u64) {
        let mut state = self.state.borrow_mut();
        if let Some(connection) = state.connections.get_mut(way.0) {
            connection.path(way.1).at_barrier = false;
        }
        drop(state);
        self.advance(way, now_ns);
    }

    /// Advances all waiting frames. Must be called after faults are lifted.
    pub(super) fn advance_waiting(&self) {
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

    /// Resets the connections of the given workers to the given nodes, where `None` stands for all. Returns the number
    /// of connections that were reset.
    pub(super) fn cut(&self, workers: Option<&[usize]>, nodes: Option<&[usize]>) -> usize {
        self.process_events(self.clock.now_ns());
        let includes =
            |list: Option<&[usize]>, number| list.is_none_or(|list| list.contains(&number));
        let hit: Vec<u64> = {
            let state = self.state.borrow();
            let hit = state.connections.iter().filter(|(_, conn)| {
                includes(workers, conn.link.worker) && includes(nodes, conn.link.node)
            });
            hit.map(|(conn, _)| conn).collect()
        };
        self.reset(&hit, RequestError::Reset);
        hit.len()
    }

    /// Resets connections from which frames were dropped.
    pub(super) fn reset_holes(&self, conns: &[u64]) {
        self.process_events(self.clock.now_ns());
        self.reset(conns, RequestError::Reset);
    }

    /// Resets connections, and fails their pending requests with `error`.
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

    /// Resumes a paused node and processes its backlog.
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

    /// Calls `work` with a node and the simulation's current time.
    ///
    /// Frames that reached the node earlier are processed first. The network's times are finer than the timers of
    /// faults, so a frame may be due that the network's task has not processed yet. If it were processed later, an
    /// earlier command could, for example, read a clock that is only set now.
    pub(super) fn with_node<T>(&self, node: usize, work: impl FnOnce(&mut Node, u64) -> T) -> T {
        let now_ns = self.clock.now_ns();
        self.process_events(now_ns);
        work(&mut self.state.borrow_mut().nodes[node], now_ns)
    }

    /// Records a departing frame for the observers. Has no effect if the run is not observed.
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

    /// Records for the observers that a node has answered a connection's oldest unanswered request.
    pub(super) fn record_replied(&self, conn: u64, reply: &Reply, at_ns: u64) {
        let Some(sent) = &self.sent else { return };
        let answered = match reply {
            Reply::Error(text) => Answered::from_error(text.as_bytes()),
            _ => Answered::Done,
        };
        sent.record_reply(conn, at_ns, answered);
    }

    /// Removes the recorded key changes of all nodes, and returns them as events of the run's history in chronological
    /// order.
    pub(super) fn take_key_changes(&self) -> Vec<Event> {
        let now = self.now();
        let mut state = self.state.borrow_mut();
        for (node, observed) in state.nodes.iter_mut().enumerate() {
            let event = &|record| now.key_changed(node, record);
            observed.observe(NodeStep::HistoryTaken { event }, now.sim_ns);
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

    /// Returns the commands that the model does not support, although a lock sent them.
    pub(super) fn unknown_commands(&self) -> BTreeSet<String> {
        let state = self.state.borrow();
        let unknown = state
            .nodes
            .iter()
            .map(|node| node.server.unknown_commands());
        unknown.flatten().cloned().collect()
    }
}

/// Returns the number of key changes so far.
fn key_changes(nodes: &[Node]) -> usize {
    nodes.iter().map(|node| node.watch.changes()).sum()
}

/// The current time on both clocks of a simulation.
#[derive(Clone, Copy)]
pub(super) struct SimNow {
    pub(super) sim_ns: u64,
    run_ns: u64,
}

impl SimNow {
    /// Converts a time of the simulation to nanoseconds since the run began.
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

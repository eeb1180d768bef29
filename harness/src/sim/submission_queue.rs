//! The queue through which client connections pass commands to the network and receive replies.
//!
//! The futures of redis-rs are `Send`, so everything in them must be `Send`, too. However, a single thread runs a whole
//! simulation, and even an uncontended mutex would take a measurable part of the time. So each thread has a separate
//! queue, and a connection only stores the number of its simulation.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use super::args::Args;
use crate::model::Reply;
use crate::proxy::LinkId;

/// The reason why a request got no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestError {
    /// The connection was reset.
    Reset,
    /// The node did not listen.
    Refused,
    /// The reply did not arrive in time.
    TimedOut,
    /// The node accepts no more clients: it replies with an error and closes the connection.
    TooManyClients,
}

/// Identifies a request in flight. Later requests reuse its slot, but have another serial number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestId {
    slot: usize,
    serial: u64,
}

/// An item that a connection submits to the network.
pub(super) enum Submission {
    /// A command to be carried to the node.
    Command {
        conn: u64,
        link: LinkId,
        args: Args,
        request: RequestId,
    },
    /// The client closed the connection. Commands that it had sent still arrive.
    Close { conn: u64 },
}

/// The slot that receives a request's reply.
#[derive(Default)]
pub(super) struct ReplySlot {
    /// The serial number of the request that occupies the slot, or 0 if the slot is free.
    serial: u64,
    pub(super) reply: Option<Result<Reply, RequestError>>,
    /// The waker of the task that waits for the reply, or of the last task that waited.
    pub(super) waker: Option<Waker>,
    pub(super) waits: bool,
}

/// One client's reconnecting channel to one node.
#[derive(Default)]
pub(super) struct Channel {
    /// The open connection, if the channel has one.
    pub(super) conn: Option<u64>,
    /// Time at which the last attempt to connect was refused, or `None` if it was not refused.
    pub(super) refused_ns: Option<u64>,
}

/// The messages published to one connection's subscriptions.
#[derive(Default)]
pub(super) struct Inbox {
    pub(super) published: VecDeque<Reply>,
    /// The connection was reset.
    pub(super) ended: bool,
    /// The waker of the task that waits for the next message.
    pub(super) waker: Option<Waker>,
}

#[derive(Default)]
pub(super) struct SubmissionQueue {
    simulation: u64,
    pub(super) submitted: Vec<Submission>,
    slots: Vec<ReplySlot>,
    free: Vec<usize>,
    serial: u64,
    pub(super) channels: Vec<Channel>,
    /// The inboxes of the connections that have subscriptions.
    pub(super) inboxes: BTreeMap<u64, Inbox>,
    /// Number of connections opened so far.
    conns: u64,
    /// The timeouts of the requests, earliest first. The entry of a completed request is removed only when it reaches
    /// the front.
    deadlines: VecDeque<(u64, RequestId)>,
    /// Buffers to be reused, so that a command needs no allocation.
    spare: Vec<Args>,
    /// Whether something was submitted, or the network was notified, since the network's last turn.
    pub(super) notified: bool,
    /// Whether a host has its turn. The network is then woken only after the turn.
    pub(super) deferred: bool,
    /// Whether the network has been woken since its last turn.
    pub(super) woken: bool,
    pub(super) network: Option<Waker>,
}

/// Maximum number of unused argument buffers.
const MAX_SPARE: usize = 64;

thread_local! {
    /// The queue of the simulation that this thread is running. A thread runs one simulation at a time.
    static QUEUE: RefCell<SubmissionQueue> = RefCell::default();
}

impl SubmissionQueue {
    /// Clears this thread's queue for a new simulation, and returns the number of the new simulation.
    pub(super) fn begin() -> u64 {
        static SIMULATIONS: AtomicU64 = AtomicU64::new(1);
        let simulation = SIMULATIONS.fetch_add(1, Ordering::Relaxed);
        let before = QUEUE.with_borrow_mut(|queue| {
            let fresh = SubmissionQueue {
                simulation,
                spare: std::mem::take(&mut queue.spare),
                ..SubmissionQueue::default()
            };
            std::mem::replace(queue, fresh)
        });
        // The queue must not be borrowed here, because dropping the last waker of a task may run arbitrary code.
        drop(before);
        simulation
    }

    /// Calls `work` with the queue of a simulation. Returns `None` if the simulation is over or
    /// belongs to another thread.
    pub(super) fn with<T>(simulation: u64, work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let result = QUEUE.try_with(|queue| {
            let mut queue = queue.borrow_mut();
            (queue.simulation == simulation).then(|| work(&mut queue))
        });
        // `try_with` fails if a connection is dropped after its thread's queue.
        result.ok().flatten()
    }

    pub(super) fn slot(&mut self, request: RequestId) -> Option<&mut ReplySlot> {
        let slot = self.slots.get_mut(request.slot)?;
        (slot.serial == request.serial).then_some(slot)
    }

    pub(super) fn register(&mut self, deadline_ns: u64) -> RequestId {
        self.serial += 1;
        let serial = self.serial;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(ReplySlot::default());
            self.slots.len() - 1
        });
        self.slots[slot].serial = serial;
        let request = RequestId { slot, serial };
        let last = self.deadlines.back();
        if last.is_none_or(|(at_ns, _)| *at_ns <= deadline_ns) {
            self.deadlines.push_back((deadline_ns, request));
        } else {
            let earlier = |deadline: &(u64, RequestId)| deadline.0 <= deadline_ns;
            let index = self.deadlines.partition_point(earlier);
            self.deadlines.insert(index, (deadline_ns, request));
        }
        request
    }

    /// Frees the slot of a completed request. The waker stays in the slot, because the next request often comes from
    /// the same task.
    pub(super) fn release(&mut self, request: RequestId) {
        self.free.push(request.slot);
        let slot = &mut self.slots[request.slot];
        (slot.serial, slot.reply, slot.waits) = (0, None, false);
    }

    /// Puts a waker back into its request's slot, after the waker was used.
    pub(super) fn store_waker(&mut self, request: RequestId, waker: Waker) {
        self.slots[request.slot].waker.get_or_insert(waker);
    }

    /// Returns the earliest deadline of a request that has no reply yet.
    pub(super) fn next_deadline(&mut self) -> Option<(u64, RequestId)> {
        while let Some((at_ns, request)) = self.deadlines.front().copied() {
            if self.slot(request).is_some_and(|slot| slot.reply.is_none()) {
                return Some((at_ns, request));
            }
            self.deadlines.pop_front();
        }
        None
    }

    /// Returns the number of a channel's connection. Assigns a new number if the channel has no connection.
    pub(super) fn open(&mut self, channel: usize) -> Option<u64> {
        let channel = self.channels.get_mut(channel)?;
        Some(*channel.conn.get_or_insert_with(|| {
            self.conns += 1;
            self.conns - 1
        }))
    }

    pub(super) fn empty_args(&mut self) -> Args {
        self.spare.pop().unwrap_or_else(Args::with_room)
    }

    pub(super) fn recycle(&mut self, used: &mut Vec<Args>) {
        let room = MAX_SPARE.saturating_sub(self.spare.len());
        let reusable = used.drain(..).filter(Args::is_usual).take(room);
        self.spare.extend(reusable.map(Args::cleared));
    }

    /// Wakes the network. The queue may be borrowed here, because waking only schedules the network's task.
    pub(super) fn notify(&mut self) {
        self.notified = true;
        if !self.deferred
            && !std::mem::replace(&mut self.woken, true)
            && let Some(network) = &self.network
        {
            network.wake_by_ref();
        }
    }
}

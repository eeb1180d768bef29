//! What passes between client connections and the network: commands one way, replies the other.
//!
//! redis-rs's futures are `Send`, and so must everything be that they hold. But one thread runs a
//! whole simulation, and a lock that is never contended would still show in a profile. So each
//! thread has a queue of its own, and connections know it only by the number of their simulation.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use super::args::Args;
use crate::model::Reply;
use crate::proxy::LinkId;

/// Why no reply came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestError {
    /// The connection was reset.
    Reset,
    /// The node does not listen.
    Refused,
    /// It did not come in time.
    TimedOut,
    /// The node accepts no more clients: it says so, and closes the connection.
    TooManyClients,
}

/// Names a request that is in flight. Its slot is reused when the request is over; the serial
/// number tells the two apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestId {
    slot: usize,
    serial: u64,
}

/// What a connection submits to the network.
pub(super) enum Submission {
    /// A command to be carried to the node.
    Command {
        conn: u64,
        link: LinkId,
        args: Args,
        request: RequestId,
    },
    /// The client closed the connection; what it had sent still arrives.
    Close { conn: u64 },
}

/// Where a request's reply is put.
#[derive(Default)]
pub(super) struct ReplySlot {
    /// Of the request that has the slot; 0: none has it.
    serial: u64,
    pub(super) reply: Option<Result<Reply, RequestError>>,
    /// The task that waits for it, or waited last.
    pub(super) waker: Option<Waker>,
    pub(super) waits: bool,
}

/// One client's reconnecting channel to one node.
#[derive(Default)]
pub(super) struct Channel {
    /// The connection that is open.
    pub(super) conn: Option<u64>,
    /// When the last attempt to connect was refused, if it was.
    pub(super) refused_ns: Option<u64>,
}

/// What was published to the subscriptions of one connection.
#[derive(Default)]
pub(super) struct Inbox {
    pub(super) published: VecDeque<Reply>,
    /// The connection was reset.
    pub(super) ended: bool,
    /// The task that waits for the next publication.
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
    /// By connection: those that have subscriptions.
    pub(super) inboxes: BTreeMap<u64, Inbox>,
    /// How many connections have been opened.
    conns: u64,
    /// When each request times out, the earliest first. Those of requests that are over are
    /// removed when they come to the front.
    deadlines: VecDeque<(u64, RequestId)>,
    /// Reused, so that a command costs no allocation.
    spare: Vec<Args>,
    /// Something was submitted since the network last looked, or it was notified.
    pub(super) notified: bool,
    /// A host has its turn: the network is woken when that is over.
    pub(super) deferred: bool,
    /// The network has been woken since it last looked.
    pub(super) woken: bool,
    pub(super) network: Option<Waker>,
}

/// More unused argument buffers than this are not kept.
const MAX_SPARE: usize = 64;

thread_local! {
    /// The queue of the simulation that this thread runs; there is never more than one.
    static QUEUE: RefCell<SubmissionQueue> = RefCell::default();
}

impl SubmissionQueue {
    /// Clears this thread's queue for another simulation, and returns that one's number.
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
        // Not while the queue is borrowed: dropping the last waker of a task can run any code.
        drop(before);
        simulation
    }

    /// Works on the queue of a simulation. `None`: it is over, or belongs to another thread.
    pub(super) fn of<T>(simulation: u64, work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let worked = QUEUE.try_with(|queue| {
            let mut queue = queue.borrow_mut();
            (queue.simulation == simulation).then(|| work(&mut queue))
        });
        // A connection may be dropped after its thread's queue.
        worked.ok().flatten()
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

    /// The request is over, and its slot is free. Its waker stays there: the next request is often of the same task.
    pub(super) fn release(&mut self, request: RequestId) {
        self.free.push(request.slot);
        let slot = &mut self.slots[request.slot];
        (slot.serial, slot.reply, slot.waits) = (0, None, false);
    }

    /// Puts the waker of a request back into its slot, after its task was woken.
    pub(super) fn keep_waker(&mut self, request: RequestId, waker: Waker) {
        self.slots[request.slot].waker.get_or_insert(waker);
    }

    /// The earliest deadline of a request that has no reply yet.
    pub(super) fn next_deadline(&mut self) -> Option<(u64, RequestId)> {
        while let Some((at_ns, request)) = self.deadlines.front().copied() {
            if self.slot(request).is_some_and(|slot| slot.reply.is_none()) {
                return Some((at_ns, request));
            }
            self.deadlines.pop_front();
        }
        None
    }

    /// The number of a channel's connection, which is a new one if there is none.
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
        let kept = used.drain(..).filter(Args::is_usual).take(room);
        self.spare.extend(kept.map(Args::cleared));
    }

    /// Wakes the network. Its task is only scheduled here, so it cannot call back into the queue.
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

//! One direction of one connection as a state machine: which frames wait, in which order, and when the next frame may
//! be forwarded.
//!
//! The proxy between real sockets and the simulated network use the same state machine. It does no I/O and has no
//! clock: its driver passes the time to it, and moves the bytes.
//!
//! - **Admission.** The fault rules decide about each frame once, when it is the next in order and its barrier is open.
//!   A drop removes the frame and all frames after it. Delays (with their jitter) and holds are assigned at this time,
//!   and stay with the frame.
//! - **Order.** Only the first frame can be forwarded. No frame is due before the frame ahead of it.
//! - **Partition.** A partition stops the first frame at any time, even in the middle of the frame.
//! - **Lift.** When a hold or a partition is lifted, the frames are forwarded in order. Delays that were assigned
//!   stay.

use std::collections::VecDeque;

use crate::proxy::command_log::log_entry::FrameOutcome;
use crate::proxy::faults::fault::ImposedId;
use crate::proxy::faults::fault_rules::{FaultRules, FrameDecision, PassConditions};

/// Minimum wait of a frame that counts as held back. Shorter waits may be due to barriers and the network.
const MIN_HELD_BACK_NS: u64 = 10_000_000;

/// Returns `arrived_at_ns` if a frame was held back before it was forwarded, and `None` otherwise.
pub(crate) fn held_back(arrived_at_ns: u64, forwarded_at_ns: u64) -> Option<u64> {
    (forwarded_at_ns.saturating_sub(arrived_at_ns) >= MIN_HELD_BACK_NS).then_some(arrived_at_ns)
}

/// A frame that was admitted and has not been forwarded yet.
#[derive(Debug)]
pub(crate) struct Waiting<T> {
    pub(crate) frame: T,
    /// When the frame arrived, in nanoseconds on the driver's clock.
    pub(crate) arrived_at_ns: u64,
    /// The outcome that the log will show.
    pub(crate) outcome: FrameOutcome,
    /// Earliest time at which the frame may be forwarded.
    due_ns: u64,
    /// Faults that keep the frame back while they are in force.
    holds: Vec<ImposedId>,
    /// Whether a partition has stopped the frame and counted it as affected.
    stopped: bool,
}

/// The condition for which the first frame of a link waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// No frame waits.
    Empty,
    /// The first frame may be forwarded now.
    Send,
    /// The first frame may be forwarded at this time at the earliest, in nanoseconds on the driver's clock.
    WaitUntil(u64),
    /// The first frame may not be forwarded before a fault is lifted.
    WaitForFaults,
}

/// One direction of one connection.
pub(crate) struct LinkState<T> {
    rules: FaultRules,
    queue: VecDeque<Waiting<T>>,
    /// When the last admitted frame is due. The next frame is not due earlier.
    latest_due_ns: u64,
}

impl<T> LinkState<T> {
    pub(crate) fn new(rules: FaultRules) -> Self {
        LinkState {
            rules,
            queue: VecDeque::new(),
            latest_due_ns: 0,
        }
    }

    /// Returns `true` if a frame that arrives now can be forwarded without waiting, because no fault matches it.
    pub(crate) fn is_clear(&mut self, now_ns: u64) -> bool {
        self.queue.is_empty() && self.latest_due_ns <= now_ns && self.rules.is_quiet()
    }

    /// Returns `true` if no fault matches this link.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.rules.is_quiet()
    }

    /// Decides what happens to the next frame. See [`FaultRules::decide`].
    pub(crate) fn decide(&mut self, command: Option<&str>) -> FrameDecision {
        self.rules.decide(command)
    }

    /// Queues a frame, under the conditions that were decided for it. Items to which no fault applies, such as the
    /// end of the stream, have [`PassConditions::default`].
    pub(crate) fn admit(&mut self, frame: T, arrived_at_ns: u64, conditions: PassConditions) {
        let mut outcome = FrameOutcome::Forwarded;
        if !conditions.delay.is_zero() {
            outcome = FrameOutcome::Delayed;
            let delay_ns = u64::try_from(conditions.delay.as_nanos()).unwrap_or(u64::MAX);
            self.latest_due_ns = self
                .latest_due_ns
                .max(arrived_at_ns.saturating_add(delay_ns));
        }
        if !conditions.holds.is_empty() {
            outcome = FrameOutcome::Held;
        }
        if conditions.answer.is_some() {
            outcome = FrameOutcome::Answered;
        }
        self.queue.push_back(Waiting {
            frame,
            arrived_at_ns,
            outcome,
            due_ns: self.latest_due_ns,
            holds: conditions.holds,
            stopped: false,
        });
    }

    /// Returns the condition for which the first frame waits. A driver that must wait calls this again at the returned
    /// time, and whenever faults have changed.
    pub(crate) fn step(&mut self, now_ns: u64) -> Step {
        let Some(first) = self.queue.front_mut() else {
            return Step::Empty;
        };
        first.stopped = self.rules.is_partitioned(!first.stopped);
        if first.stopped || self.rules.holds(&first.holds) {
            if first.outcome != FrameOutcome::Answered {
                first.outcome = FrameOutcome::Held;
            }
            return Step::WaitForFaults;
        }
        if first.due_ns > now_ns {
            return Step::WaitUntil(first.due_ns);
        }
        Step::Send
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn front(&self) -> Option<&Waiting<T>> {
        self.queue.front()
    }

    pub(crate) fn front_mut(&mut self) -> Option<&mut Waiting<T>> {
        self.queue.front_mut()
    }

    /// Removes the first frame, which has been forwarded.
    pub(crate) fn pop(&mut self) -> Option<Waiting<T>> {
        self.queue.pop_front()
    }

    /// Iterates over the waiting frames, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waiting<T>> {
        self.queue.iter()
    }
}

/// Returns `true` if a partition in either direction prevents a connection from being opened, because the handshake
/// needs both directions. If it does, marks the first waiting request as stopped, so that it counts only once towards
/// the frames of the partition.
pub(crate) fn is_handshake_blocked<T>(
    request: &mut LinkState<T>,
    reply: &mut LinkState<T>,
) -> bool {
    let first = request.queue.front_mut();
    let newly_stopped = first.as_ref().is_some_and(|first| !first.stopped);
    let blocked =
        reply.rules.is_partitioned(newly_stopped) | request.rules.is_partitioned(newly_stopped);
    if let Some(first) = first.filter(|_| blocked) {
        first.stopped = true;
    }
    blocked
}

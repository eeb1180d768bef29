//! One direction of one connection as a state machine: which frames wait, in which order, and
//! when the next one may go on.
//!
//! The proxy between real sockets and the simulated network both drive it. It does no I/O and has
//! no clock: its driver says what time it is, and moves the bytes.
//!
//! - **Admission.** A frame is judged once, when it is next in order (a gate before it is open).
//!   A drop swallows it, and what follows. A delay, with its jitter, and a hold are dealt out here and stay with the
//!   frame.
//! - **Order.** Only the first frame can go on. None is due before the one ahead of it.
//! - **Partition.** It stops whatever is first, at any time, also in the middle of a frame.
//! - **Lift.** A hold or a partition that is lifted lets the frames go on, in order. A delay that
//!   was dealt out stays.

use std::collections::VecDeque;

use crate::proxy::command_log::log_entry::FrameOutcome;
use crate::proxy::faults::fault::ImposedId;
use crate::proxy::faults::fault_rules::{FaultRules, Terms, Verdict};

/// Less than this is no holding back: gates and the network take a moment.
const LEAST_HELD_BACK_NS: u64 = 10_000_000;

/// When a frame came, if it was held back before it went on.
pub(crate) fn held_back(arrived_at_ns: u64, forwarded_at_ns: u64) -> Option<u64> {
    (forwarded_at_ns.saturating_sub(arrived_at_ns) >= LEAST_HELD_BACK_NS).then_some(arrived_at_ns)
}

/// A frame that was admitted and has not gone on yet.
#[derive(Debug)]
pub(crate) struct Waiting<T> {
    pub(crate) frame: T,
    /// When it came, in nanoseconds on the driver's clock.
    pub(crate) arrived_at_ns: u64,
    /// What the log will say of it.
    pub(crate) outcome: FrameOutcome,
    /// It may not go on earlier.
    due_ns: u64,
    /// It may not go on while one of these is in force.
    holds: Vec<ImposedId>,
    /// A partition stopped it, and has counted it as a strike.
    stopped: bool,
}

/// What the first frame of a link needs before it can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// No frame waits.
    Empty,
    /// It may go on now.
    Send,
    /// It may go on at this time at the earliest, in nanoseconds on the driver's clock.
    WaitUntil(u64),
    /// It may not go on before a fault is lifted.
    WaitForFaults,
}

/// One direction of one connection.
pub(crate) struct LinkState<T> {
    rules: FaultRules,
    queue: VecDeque<Waiting<T>>,
    /// When the latest frame that was admitted is due: the next one is not due earlier.
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

    /// True when a frame that comes now can go on without waiting or being judged.
    pub(crate) fn is_clear(&mut self, now_ns: u64) -> bool {
        self.queue.is_empty() && self.latest_due_ns <= now_ns && self.rules.is_quiet()
    }

    /// True when no fault matches this link.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.rules.is_quiet()
    }

    /// Judges the next frame. `command`: the one that it is, or answers; `None` for mere bytes.
    pub(crate) fn judge(&mut self, command: Option<&str>) -> Verdict {
        self.rules.verdict(command)
    }

    /// Lets a frame wait for its turn, under the terms of its verdict. What is never judged, such
    /// as the end of the stream, has [`Terms::default`].
    pub(crate) fn admit(&mut self, frame: T, arrived_at_ns: u64, terms: Terms) {
        let mut outcome = FrameOutcome::Forwarded;
        if !terms.delay.is_zero() {
            outcome = FrameOutcome::Delayed;
            let delay_ns = u64::try_from(terms.delay.as_nanos()).unwrap_or(u64::MAX);
            self.latest_due_ns = self
                .latest_due_ns
                .max(arrived_at_ns.saturating_add(delay_ns));
        }
        if !terms.holds.is_empty() {
            outcome = FrameOutcome::Held;
        }
        if terms.answer.is_some() {
            outcome = FrameOutcome::Answered;
        }
        self.queue.push_back(Waiting {
            frame,
            arrived_at_ns,
            outcome,
            due_ns: self.latest_due_ns,
            holds: terms.holds,
            stopped: false,
        });
    }

    /// Looks at the first frame. A driver that is told to wait looks again at that time, and
    /// whenever faults have changed.
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

    /// Takes the first frame, which has gone on.
    pub(crate) fn pop(&mut self) -> Option<Waiting<T>> {
        self.queue.pop_front()
    }

    /// The frames that wait, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waiting<T>> {
        self.queue.iter()
    }
}

/// True when a partition keeps a connection from being opened: its handshake needs both
/// directions. The first request counts as stopped by it, once.
pub(crate) fn is_handshake_blocked<T>(
    request: &mut LinkState<T>,
    reply: &mut LinkState<T>,
) -> bool {
    let first = request.queue.front_mut();
    let affects = first.as_ref().is_some_and(|first| !first.stopped);
    let blocked = reply.rules.is_partitioned(affects) | request.rules.is_partitioned(affects);
    if let Some(first) = first.filter(|_| blocked) {
        first.stopped = true;
    }
    blocked
}

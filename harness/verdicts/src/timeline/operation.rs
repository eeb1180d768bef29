//! Operations: requests to acquire and to release, each with its answer.

use crate::history::History;

use super::attempt::Attempt;
use super::step::{AcquireFailure, HoldEnd, Step};
use super::tracker::AttemptTracker;

/// A request and its outcome. Times are nanoseconds since the run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// The worker that sent the request.
    pub worker: usize,
    /// The attempt's number.
    pub op: u64,
    /// The lock, by its position in `Header::keys`.
    pub lock: u32,
    /// The kind of request.
    pub kind: OperationKind,
    /// When the buyer arrived; only for an acquisition in an open loop.
    pub intended_ns: Option<u64>,
    /// When the request was sent.
    pub requested_at_ns: u64,
    /// When the request was answered, its worker died, or the history ended.
    pub ended_at_ns: u64,
    /// The outcome.
    pub outcome: OperationOutcome,
}

/// The kinds of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationKind {
    /// Acquire the lock.
    Acquire,
    /// Release the lock.
    Release,
}

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationOutcome {
    /// The lock was granted or released.
    Done,
    /// The request was refused, because another client has the lock.
    Refused,
    /// The request ended in an error.
    Failed,
    /// The request was never answered.
    Unanswered,
}

impl Operation {
    /// Returns when the operation was due. In an open loop, this is the buyer's arrival, which can be before the
    /// request was sent.
    pub fn wanted_ns(&self) -> u64 {
        self.intended_ns
            .map_or(self.requested_at_ns, |intended_ns| {
                intended_ns.min(self.requested_at_ns)
            })
    }

    /// Returns `true` if this is an operation of this kind that succeeded.
    pub fn succeeded(&self, kind: OperationKind) -> bool {
        self.kind == kind && self.outcome == OperationOutcome::Done
    }

    fn acquisition(attempt: &Attempt, ended_at_ns: u64, outcome: OperationOutcome) -> Self {
        Operation {
            worker: attempt.worker,
            op: attempt.op,
            lock: attempt.lock,
            kind: OperationKind::Acquire,
            intended_ns: attempt.intended_ns,
            requested_at_ns: attempt.acquire_ns,
            ended_at_ns,
            outcome,
        }
    }

    fn release(
        attempt: &Attempt,
        requested_at_ns: u64,
        ended_at_ns: u64,
        outcome: OperationOutcome,
    ) -> Self {
        Operation {
            kind: OperationKind::Release,
            intended_ns: None,
            requested_at_ns,
            ..Operation::acquisition(attempt, ended_at_ns, outcome)
        }
    }

    /// Returns the pending request of an attempt, or `None` if it has none.
    fn unanswered(attempt: &Attempt, ended_at_ns: u64) -> Option<Self> {
        let outcome = OperationOutcome::Unanswered;
        match (attempt.begin_ns, attempt.ended) {
            (None, _) => Some(Operation::acquisition(attempt, ended_at_ns, outcome)),
            (Some(_), Some((requested_at_ns, HoldEnd::Released))) => Some(Operation::release(
                attempt,
                requested_at_ns,
                ended_at_ns,
                outcome,
            )),
            _ => None,
        }
    }
}

/// Calls `see` for every operation of a history, in the order in which the operations ended.
pub fn each_operation(history: &History, mut see: impl FnMut(Operation)) {
    let mut tracker = AttemptTracker::new(&history.header);
    let mut ended_at_ns = 0;
    for event in &history.events {
        ended_at_ns = event.at_ns;
        // An answer to a release that was never requested ends the hold, but is not an operation.
        let mut ended_now = false;
        tracker.event(event, |attempt, step| {
            let acquisition = |outcome| Some(Operation::acquisition(attempt, ended_at_ns, outcome));
            let operation = match step {
                Step::Begun => acquisition(OperationOutcome::Done),
                Step::Denied(AcquireFailure::Refused) => acquisition(OperationOutcome::Refused),
                Step::Denied(AcquireFailure::Failed { .. }) => {
                    acquisition(OperationOutcome::Failed)
                }
                Step::Ended(_) => {
                    ended_now = true;
                    None
                }
                Step::Answered { failed, .. } => {
                    let outcome = if failed {
                        OperationOutcome::Failed
                    } else {
                        OperationOutcome::Done
                    };
                    let requested = attempt.ended.filter(|_| !ended_now);
                    requested.map(|(requested_at_ns, _)| {
                        Operation::release(attempt, requested_at_ns, ended_at_ns, outcome)
                    })
                }
                Step::Gone => Operation::unanswered(attempt, ended_at_ns),
                Step::Requested | Step::Acted | Step::LeaseMoved => None,
            };
            operation.into_iter().for_each(&mut see);
        });
    }
    let waiting = tracker.under_way();
    let unanswered = waiting.filter_map(|attempt| Operation::unanswered(attempt, ended_at_ns));
    unanswered.for_each(see);
}

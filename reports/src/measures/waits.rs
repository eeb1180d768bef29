//! Waits that include refusals: a buyer that is refused and sends another request keeps waiting.
//!
//! In an open loop a buyer waits from its arrival, and the worker's next request is for another buyer.

use std::collections::HashMap;

use picklock_verdicts::timeline::{Operation, OperationOutcome};

/// A wait that includes refusals and ends with the grant or the last attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongestWait {
    /// The worker that waited.
    pub worker: usize,
    /// Start of the wait, in nanoseconds since the start of the run.
    pub from_ns: u64,
    /// Duration of the wait, in nanoseconds.
    pub waited_ns: u64,
    /// Whether the wait ended with a grant.
    pub granted: bool,
}

/// The waits of all workers. Requests are passed in when they end.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// The current wait of each worker, and its start in nanoseconds.
    since: HashMap<usize, (WaitKey, u64)>,
}

/// The key of a wait: the lock's key, and in an open loop the buyer's arrival.
type WaitKey = (u32, Option<u64>);

impl Waits {
    /// Records the end of a request to acquire, and returns the worker's wait for this key so far.
    pub(super) fn end_request(&mut self, operation: &Operation) -> LongestWait {
        let wait_key = (operation.lock, operation.intended_ns);
        let since_ns = match self.since.get(&operation.worker) {
            Some((before, since_ns)) if *before == wait_key => *since_ns,
            _ => operation.wanted_ns(),
        };
        match operation.outcome {
            OperationOutcome::Refused | OperationOutcome::Failed => {
                self.since.insert(operation.worker, (wait_key, since_ns));
            }
            OperationOutcome::Done | OperationOutcome::Unanswered => {
                self.since.remove(&operation.worker);
            }
        }
        LongestWait {
            worker: operation.worker,
            from_ns: since_ns,
            waited_ns: operation.ended_at_ns.saturating_sub(since_ns),
            granted: operation.outcome == OperationOutcome::Done,
        }
    }
}

//! Waits that include refusals: a buyer that is refused and asks again has waited all along.
//!
//! In an open loop a buyer waits from its arrival, and the worker's next request is for another
//! buyer.

use std::collections::HashMap;

use picklock_verdicts::timeline::{Operation, OperationOutcome};

/// A wait, over refusals too, until the grant or the last attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongestWait {
    /// Who waited.
    pub worker: usize,
    /// Since when, nanoseconds since the run began.
    pub from_ns: u64,
    /// How long, nanoseconds.
    pub waited_ns: u64,
    /// False if it never got the lock.
    pub granted: bool,
}

/// The waits of all workers. Requests are passed in when they end.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// What each worker wants, and since when.
    since: HashMap<usize, (Wanted, u64)>,
}

/// The key, and in an open loop the arrival of the buyer.
type Wanted = (u32, Option<u64>);

impl Waits {
    /// Ends a request to acquire: how long has its worker wanted this key by now?
    pub(super) fn over(&mut self, operation: &Operation) -> LongestWait {
        let wanted = (operation.key, operation.intended_ns);
        let since_ns = match self.since.get(&operation.worker) {
            Some((before, since_ns)) if *before == wanted => *since_ns,
            _ => operation.wanted_ns(),
        };
        match operation.outcome {
            OperationOutcome::Refused | OperationOutcome::Failed => {
                self.since.insert(operation.worker, (wanted, since_ns));
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

//! Waits that go on over refusals: a buyer that was refused and asks again has waited all along.
//!
//! In an open loop a buyer has waited since it came, and the worker's next request is for another
//! buyer.

use std::collections::HashMap;

use picklock_verdicts::timeline::{Operation, Outcome};

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

/// The waits of all workers, as their requests are over one after the other.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Since when a worker wants which key.
    since: HashMap<usize, Want>,
}

/// The key, and in an open loop the buyer, by when it came.
type Wanted = (u32, Option<u64>);

/// What is wanted, and since when.
type Want = (Wanted, u64);

impl Waits {
    /// A request to acquire is over: for how long has its worker wanted this key by now?
    pub(super) fn over(&mut self, operation: &Operation) -> LongestWait {
        let wanted = (operation.key, operation.intended_ns);
        let since_ns = match self.since.get(&operation.worker) {
            Some((before, since_ns)) if *before == wanted => *since_ns,
            _ => operation.wanted_ns(),
        };
        match operation.outcome {
            Outcome::Refused | Outcome::Failed => {
                self.since.insert(operation.worker, (wanted, since_ns));
            }
            Outcome::Done | Outcome::Unanswered => {
                self.since.remove(&operation.worker);
            }
        }
        LongestWait {
            worker: operation.worker,
            from_ns: since_ns,
            waited_ns: operation.over_ns.saturating_sub(since_ns),
            granted: operation.outcome == Outcome::Done,
        }
    }
}

//! Waits that go on over refusals: a buyer that was refused and asks again has waited all along.

use std::collections::HashMap;

use super::fairness::LongestWait;
use super::operation::{Outcome, Request};

/// The waits of all workers, as their requests are over one after the other.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Since when a worker wants which key.
    since: HashMap<usize, (u32, u64)>,
}

impl Waits {
    /// A request to acquire is over: for how long has its worker wanted this key by now?
    pub(super) fn over(&mut self, request: &Request) -> LongestWait {
        let since_ns = match self.since.get(&request.worker) {
            Some((key, since_ns)) if *key == request.key => *since_ns,
            _ => request.asked_ns,
        };
        match request.outcome {
            Outcome::Refused | Outcome::Failed => {
                self.since.insert(request.worker, (request.key, since_ns));
            }
            Outcome::Done | Outcome::Unanswered => {
                self.since.remove(&request.worker);
            }
        }
        LongestWait {
            worker: request.worker,
            from_ns: since_ns,
            waited_ns: request.over_ns.saturating_sub(since_ns),
            granted: request.outcome == Outcome::Done,
        }
    }
}

//! Waits that go on over refusals: a buyer that was refused and asks again has waited all along.
//!
//! In an open loop a buyer has waited since he came, and whoever is asked for next is another one.

use std::collections::HashMap;

use super::fairness::LongestWait;
use super::operation::{Outcome, Request};

/// The waits of all workers, as their requests are over one after the other.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Since when a worker wants which key.
    since: HashMap<usize, Want>,
}

/// The key, and in an open loop the buyer, by when he came.
type Wanted = (u32, Option<u64>);

/// What is wanted, and since when.
type Want = (Wanted, u64);

impl Waits {
    /// A request to acquire is over: for how long has its worker wanted this key by now?
    pub(super) fn over(&mut self, request: &Request) -> LongestWait {
        let wanted = (request.key, request.intended_ns);
        let since_ns = match self.since.get(&request.worker) {
            Some((before, since_ns)) if *before == wanted => *since_ns,
            _ => request.wanted_ns(),
        };
        match request.outcome {
            Outcome::Refused | Outcome::Failed => {
                self.since.insert(request.worker, (wanted, since_ns));
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

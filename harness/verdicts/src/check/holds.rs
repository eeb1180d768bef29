//! Holds: who had the lock from when to when, for explanations and for timelines.

use std::collections::HashMap;

use crate::history::{History, What};

use super::attempt::{Attempt, HoldEnd, Step};
use super::follower::Follower;

/// A hold: from the grant's arrival until the release was sent, the worker was gone, or the
/// history ended. All times in nanoseconds since the run began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Who.
    pub worker: usize,
    /// The attempt's number.
    pub op: u64,
    /// The lock's key, by its position in the header.
    pub key: u32,
    /// When the request was sent.
    pub acquire_ns: u64,
    /// When the grant arrived.
    pub begin_ns: u64,
    /// When the hold ended.
    pub end_ns: u64,
    /// The end of the lease that came with the grant.
    pub first_deadline_ns: u64,
    /// The last known end of the lease; may lie before the begin (granted too late) and after
    /// the end.
    pub deadline_ns: u64,
    /// The stretches of time in which the lease ran, by what the client was told: one, none if
    /// it was granted too late, more if it was extended after it had run out. Cut at `end_ns`.
    pub leases: Vec<Lease>,
    /// True when the deadline is the subject's own word, not computed from the TTL.
    pub told: bool,
    /// True when the subject itself may have waited for the lock.
    pub could_wait: bool,
    /// The token of the grant.
    pub token: String,
    /// The fencing token.
    pub fence: Option<u64>,
    /// How it ended.
    pub ended: HoldEnd,
}

/// A stretch of time in which a lease ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// From the grant's arrival, or the extension's.
    pub from_ns: u64,
    /// Until the deadline, or the end of the hold.
    pub until_ns: u64,
}

impl Lease {
    /// Strict overlap: equal times prove nothing.
    pub fn overlaps(self, other: Lease) -> bool {
        self.from_ns.max(other.from_ns) < self.until_ns.min(other.until_ns)
    }
}

impl Hold {
    /// True when leases of the two ran at the same time.
    pub fn shares_lease_with(&self, other: &Hold) -> bool {
        let mut leases = self.leases.iter();
        leases.any(|mine| other.leases.iter().any(|theirs| mine.overlaps(*theirs)))
    }
}

/// All holds of a history, in the order in which they began.
pub fn holds(history: &History) -> Vec<Hold> {
    let mut found: Vec<Hold> = Vec::new();
    let mut open: HashMap<u64, usize> = HashMap::new();
    let mut follower = Follower::new(history.header.workers);
    let mut end_ns = 0;
    for event in &history.events {
        end_ns = event.at_ns;
        follower.event(event, |attempt, step| match step {
            Step::Begun => {
                let token = match &event.what {
                    What::Granted { token, .. } => token.clone(),
                    _ => String::new(),
                };
                open.insert(attempt.op, found.len());
                found.push(begun(attempt, token));
            }
            _ => follow(&mut found, &mut open, event.at_ns, attempt, step),
        });
    }
    follower.close(end_ns, |attempt, step| {
        follow(&mut found, &mut open, end_ns, attempt, step);
    });
    found
}

fn begun(attempt: &Attempt, token: String) -> Hold {
    let begin_ns = attempt.begun_ns();
    Hold {
        worker: attempt.worker,
        op: attempt.op,
        key: attempt.key,
        acquire_ns: attempt.acquire_ns,
        begin_ns,
        end_ns: u64::MAX,
        first_deadline_ns: attempt.deadline_ns,
        deadline_ns: attempt.deadline_ns,
        leases: lease(begin_ns, attempt.deadline_ns).into_iter().collect(),
        told: attempt.told,
        could_wait: attempt.wait_ns > 0,
        token,
        fence: attempt.fence,
        ended: HoldEnd::Open,
    }
}

fn lease(from_ns: u64, until_ns: u64) -> Option<Lease> {
    (from_ns < until_ns).then_some(Lease { from_ns, until_ns })
}

fn follow(
    found: &mut [Hold],
    open: &mut HashMap<u64, usize>,
    at_ns: u64,
    attempt: &Attempt,
    step: Step,
) {
    let Some(&index) = open.get(&attempt.op) else {
        return;
    };
    let hold = &mut found[index];
    match step {
        Step::LeaseMoved { was_ns } => {
            hold.deadline_ns = attempt.deadline_ns;
            match hold.leases.last_mut() {
                Some(last) if was_ns > at_ns => last.until_ns = attempt.deadline_ns,
                _ => hold.leases.extend(lease(at_ns, attempt.deadline_ns)),
            }
        }
        Step::Ended(how) => {
            hold.end_ns = at_ns;
            hold.ended = how;
            for lease in &mut hold.leases {
                lease.until_ns = lease.until_ns.min(at_ns);
            }
            hold.leases.retain(|lease| lease.from_ns < lease.until_ns);
            open.remove(&attempt.op);
        }
        _ => {}
    }
}

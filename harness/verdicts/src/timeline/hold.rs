//! Holds: who had the lock from when to when, and when the lease ran.

use std::collections::HashMap;

use crate::history::{Event, History, What};

use super::attempt::{Attempt, HoldEnd, Step};
use super::tracker::AttemptTracker;

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
    /// The stretches of time in which the lease certainly ran, by what the client was told: one,
    /// none if it was granted too late, more if it was extended after it had run out. Cut at
    /// `end_ns`.
    pub leases: Vec<Lease>,
    /// The stretches in which it may have run; they contain `leases`.
    pub possible_leases: Vec<Lease>,
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

/// A part of a hold in which its lease was in one state. Never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeasePhase {
    /// When it began, nanoseconds since the run began.
    pub from_ns: u64,
    /// When it ended.
    pub until_ns: u64,
    /// The state of the lease in it.
    pub state: LeaseState,
}

/// Whether a lease runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseState {
    /// The client may believe that it holds.
    Running,
    /// The lease may be over: the subject did not say enough to tell.
    PerhapsOver,
    /// The lease is over.
    Over,
}

impl Lease {
    /// Strict overlap: equal times prove nothing.
    pub fn overlaps(self, other: Lease) -> bool {
        self.from_ns.max(other.from_ns) < self.until_ns.min(other.until_ns)
    }

    /// The stretch between two times, if it has length.
    fn between(from_ns: u64, until_ns: u64) -> Option<Lease> {
        (from_ns < until_ns).then_some(Lease { from_ns, until_ns })
    }

    /// The deadline moved at `at_ns`. An expired lease starts again.
    fn moved(leases: &mut Vec<Lease>, at_ns: u64, was_ns: u64, deadline_ns: u64) {
        match leases.last_mut() {
            Some(last) if was_ns > at_ns => last.until_ns = deadline_ns,
            _ => leases.extend(Lease::between(at_ns, deadline_ns)),
        }
    }

    fn cut(leases: &mut Vec<Lease>, end_ns: u64) {
        for lease in leases.iter_mut() {
            lease.until_ns = lease.until_ns.min(end_ns);
        }
        leases.retain(|lease| lease.from_ns < lease.until_ns);
    }
}

impl Hold {
    /// True when leases of the two ran at the same time.
    pub fn shares_lease_with(&self, other: &Hold) -> bool {
        let mut leases = self.leases.iter();
        leases.any(|mine| other.leases.iter().any(|theirs| mine.overlaps(*theirs)))
    }

    /// The whole hold by the state of its lease, in the order of time.
    pub fn lease_phases(&self) -> impl Iterator<Item = LeasePhase> + '_ {
        let mut from_ns = self.begin_ns;
        std::iter::from_fn(move || {
            if from_ns >= self.end_ns {
                return None;
            }
            let (certain, certain_until_ns) = runs(&self.leases, from_ns);
            let (possible, possible_until_ns) = runs(&self.possible_leases, from_ns);
            let (state, until_ns) = match (certain, possible) {
                (true, _) => (LeaseState::Running, certain_until_ns),
                (false, true) => (
                    LeaseState::PerhapsOver,
                    possible_until_ns.min(certain_until_ns),
                ),
                (false, false) => (LeaseState::Over, possible_until_ns.min(certain_until_ns)),
            };
            let phase = LeasePhase {
                from_ns,
                until_ns: until_ns.min(self.end_ns),
                state,
            };
            from_ns = phase.until_ns;
            Some(phase)
        })
    }

    fn begun(attempt: &Attempt, token: String) -> Hold {
        let begin_ns = attempt.begun_ns();
        let lease = |until_ns| Lease::between(begin_ns, until_ns).into_iter().collect();
        Hold {
            worker: attempt.worker,
            op: attempt.op,
            key: attempt.key,
            acquire_ns: attempt.acquire_ns,
            begin_ns,
            end_ns: u64::MAX,
            first_deadline_ns: attempt.deadline_ns,
            deadline_ns: attempt.deadline_ns,
            leases: lease(attempt.deadline_ns),
            possible_leases: lease(attempt.latest_deadline_ns),
            told: attempt.told,
            could_wait: attempt.wait_ns > 0,
            token,
            fence: attempt.fence,
            ended: HoldEnd::Open,
        }
    }

    fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        match step {
            Step::LeaseMoved {
                was_ns,
                was_latest_ns,
            } => {
                let (now_ns, latest_ns) = (attempt.deadline_ns, attempt.latest_deadline_ns);
                self.deadline_ns = now_ns;
                Lease::moved(&mut self.leases, at_ns, was_ns, now_ns);
                Lease::moved(&mut self.possible_leases, at_ns, was_latest_ns, latest_ns);
            }
            Step::Ended(how) => {
                self.end_ns = at_ns;
                self.ended = how;
                Lease::cut(&mut self.leases, at_ns);
                Lease::cut(&mut self.possible_leases, at_ns);
            }
            _ => {}
        }
    }
}

/// Whether one of these stretches contains the moment, and until when that stays so.
fn runs(leases: &[Lease], at_ns: u64) -> (bool, u64) {
    let next = leases.partition_point(|lease| lease.until_ns <= at_ns);
    match leases.get(next) {
        Some(lease) if lease.from_ns <= at_ns => (true, lease.until_ns),
        Some(lease) => (false, lease.from_ns),
        None => (false, u64::MAX),
    }
}

/// All holds of a history, in the order in which they began.
pub(super) fn holds(history: &History) -> Vec<Hold> {
    let mut reader = Reader::default();
    let mut tracker = AttemptTracker::new(history.header.workers);
    let mut end_ns = 0;
    for event in &history.events {
        end_ns = event.at_ns;
        tracker.event(event, |attempt, step| reader.step(event, attempt, step));
    }
    tracker.close(end_ns, |attempt, step| reader.follow(end_ns, attempt, step));
    reader.holds
}

#[derive(Default)]
struct Reader {
    holds: Vec<Hold>,
    /// Where in `holds` each hold is that has not ended, by attempt.
    open: HashMap<u64, usize>,
}

impl Reader {
    fn step(&mut self, event: &Event, attempt: &Attempt, step: Step) {
        if step != Step::Begun {
            return self.follow(event.at_ns, attempt, step);
        }
        let token = match &event.what {
            What::Granted { token, .. } => token.clone(),
            _ => String::new(),
        };
        self.open.insert(attempt.op, self.holds.len());
        self.holds.push(Hold::begun(attempt, token));
    }

    fn follow(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        if let Some(&index) = self.open.get(&attempt.op) {
            self.holds[index].step(at_ns, attempt, step);
        }
        if matches!(step, Step::Ended(_)) {
            self.open.remove(&attempt.op);
        }
    }
}

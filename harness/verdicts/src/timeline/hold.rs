//! Holds: which client had the lock, from when to when, and when its lease ran.

use std::collections::{HashMap, HashSet};

use crate::history::{Event, EventKind, History};

use super::attempt::Attempt;
use super::fault::{FaultSpan, breaks_leases};
use super::lease::{Lease, Leases, overlap};
use super::nanoseconds::ns_from_ms;
use super::step::{HoldEnd, Step};
use super::tracker::{AttemptTracker, UnderWay};

/// A hold: from the arrival of the grant until the release was sent, the worker died, or the history ended. A leader
/// that requests permission from its lock before each act holds the lock until the end of the last act that the lock
/// allowed, because the lock did not confirm afterwards that it still leads. All times are in nanoseconds since the run
/// began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The worker that holds the lock.
    pub worker: usize,
    /// The attempt's number.
    pub op: u64,
    /// The lock, by its position in `Header::keys`.
    pub lock: u32,
    /// The part of the lock's capacity that the hold takes.
    pub weight: u32,
    /// When the request was sent.
    pub acquire_ns: u64,
    /// The requested lease time.
    pub ttl_ns: u64,
    /// When the grant arrived.
    pub begin_ns: u64,
    /// When the hold ended.
    pub end_ns: u64,
    /// Every other grant that had arrived before this time was made before this grant (see `grant_order.rs`).
    pub follows_grants_before_ns: u64,
    /// The end of the lease that came with the grant.
    pub first_deadline_ns: u64,
    /// The last known end of the lease. It is before `begin_ns` if the grant arrived after its lease, and can be after
    /// `end_ns`.
    pub deadline_ns: u64,
    /// The earliest end of the lease according to the reports after the grant.
    pub earliest_deadline_ns: u64,
    /// The periods in which the lease certainly ran according to the reports that the client received: usually one;
    /// none if the grant arrived after its lease; several if an extension arrived after the end of the lease. No period
    /// ends later than `end_ns` or than the deadline of the latest report.
    pub leases: Leases,
    /// The periods in which the lease may have run. They contain `leases`.
    pub possible_leases: Leases,
    /// Whether the lock reported the deadline itself. If not, it is computed from the TTL.
    pub lease_reported: bool,
    /// Whether the lock reported no validity, but the key history of a single node shows when its lease began.
    pub lease_observed: bool,
    /// Whether the client may have waited for the lock inside its request.
    pub could_wait: bool,
    /// The token of the grant.
    pub token: String,
    /// The fencing token.
    pub fence: Option<u64>,
    /// How the hold ended.
    pub ended: HoldEnd,
    /// Whether the hold is that of a leader whose lock allowed none of its acts. Only acts count.
    pub is_without_act: bool,
}

/// A part of a hold in which its lease had one state. Never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeasePhase {
    /// When the phase began, in nanoseconds since the run began.
    pub from_ns: u64,
    /// When the phase ended.
    pub until_ns: u64,
    /// The state of the lease during the phase.
    pub state: LeaseState,
}

/// The state of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseState {
    /// The lease runs: the client may rely on it.
    Running,
    /// The lease may be over; the lock did not report enough to decide.
    PerhapsOver,
    /// The lease is over.
    Over,
}

impl Hold {
    /// Returns `true` if only a lower bound is known for the end of the first lease.
    pub fn is_lease_a_bound(&self) -> bool {
        let until_ns = |leases: &[Lease]| leases.first().map(|lease| lease.until_ns);
        let (least, most) = (until_ns(&self.leases), until_ns(&self.possible_leases));
        most > least.map(|least_ns| least_ns.saturating_add(ns_from_ms(2)))
    }

    /// Returns `true` if leases of the two holds ran at the same time.
    pub fn shares_lease_with(&self, other: &Hold) -> bool {
        Lease::shared_since_ns(&self.leases, &other.leases).is_some()
    }

    /// Returns `true` if the two holds overlap as a whole; see [`overlap`].
    pub fn overlaps(&self, other: &Hold) -> bool {
        overlap(self.span(), other.span())
    }

    /// Returns `true` if the lease had expired before the grant arrived. `faults` are all faults of the run.
    ///
    /// A lock that reports no validity, and waits for the lock within its request, often acquires it later than
    /// `acquire + ttl` with a fresh lease. Its grant counts as late only if a fault delayed this worker during the
    /// request.
    pub fn arrived_late(&self, faults: &[FaultSpan<'_>]) -> bool {
        let first = self.leases.first();
        if first.is_some_and(|lease| lease.from_ns == self.begin_ns) {
            return false;
        }
        let delayed = |fault: &FaultSpan<'_>| {
            !breaks_leases(fault.fault)
                && fault.affects(self.worker)
                && fault.began_ns < self.begin_ns
                && fault.touches(self.acquire_ns, self.begin_ns)
        };
        self.lease_reported || self.lease_observed || !self.could_wait || faults.iter().any(delayed)
    }

    /// Returns a copy of the hold that is cut to `begin_ns..end_ns`. Both times must lie within the hold.
    pub(crate) fn cut(&self, begin_ns: u64, end_ns: u64) -> Hold {
        let mut hold = self.clone();
        hold.begin_ns = begin_ns;
        hold.leases.retain(|lease| lease.from_ns < end_ns);
        hold.possible_leases.retain(|lease| lease.from_ns < end_ns);
        hold.end(end_ns);
        hold
    }

    /// Ends the hold and its leases.
    fn end(&mut self, at_ns: u64) {
        self.end_ns = at_ns;
        for lease in self.leases.iter_mut().chain(&mut self.possible_leases) {
            lease.until_ns = lease.until_ns.min(at_ns);
        }
    }

    /// Returns the beginning and the end of the hold.
    pub fn span(&self) -> (u64, u64) {
        (self.begin_ns, self.end_ns)
    }

    /// Returns the phases of the hold by the state of its lease, in chronological order.
    pub fn lease_phases(&self) -> impl Iterator<Item = LeasePhase> + '_ {
        let mut from_ns = self.begin_ns;
        std::iter::from_fn(move || {
            if from_ns >= self.end_ns {
                return None;
            }
            let (certain, certain_until_ns) = runs(&self.leases, from_ns);
            let (possible, possible_until_ns) = runs(&self.possible_leases, from_ns);
            let either_until_ns = possible_until_ns.min(certain_until_ns);
            let (state, until_ns) = match (certain, possible) {
                (true, _) => (LeaseState::Running, certain_until_ns),
                (false, true) => (LeaseState::PerhapsOver, either_until_ns),
                (false, false) => (LeaseState::Over, either_until_ns),
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

    fn from_grant(attempt: &Attempt, token: String) -> Hold {
        let begin_ns = attempt.begun_ns();
        Hold {
            worker: attempt.worker,
            op: attempt.op,
            lock: attempt.lock,
            weight: attempt.weight,
            acquire_ns: attempt.acquire_ns,
            ttl_ns: attempt.ttl_ns,
            begin_ns,
            end_ns: u64::MAX,
            follows_grants_before_ns: attempt.follows_grants_before_ns,
            first_deadline_ns: attempt.deadline_ns,
            deadline_ns: attempt.deadline_ns,
            earliest_deadline_ns: u64::MAX,
            leases: Lease::started(begin_ns, attempt.deadline_ns),
            possible_leases: Lease::started(begin_ns, attempt.latest_deadline_ns),
            lease_reported: attempt.lease_reported,
            lease_observed: attempt.lease_observed,
            could_wait: attempt.wait_ns > 0,
            token,
            fence: attempt.fence,
            ended: HoldEnd::Open,
            is_without_act: false,
        }
    }

    fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        match step {
            Step::LeaseMoved => {
                let report_window_ns = attempt.report_window_ns;
                self.deadline_ns = attempt.deadline_ns;
                // The report of a loss does not change the lease before the report was written.
                let deadline_ns = attempt.deadline_ns.max(report_window_ns.0);
                self.earliest_deadline_ns = self.earliest_deadline_ns.min(deadline_ns);
                let latest_ns = attempt.latest_deadline_ns;
                Lease::moved(
                    &mut self.leases,
                    report_window_ns.1,
                    at_ns,
                    attempt.deadline_ns,
                );
                Lease::moved(
                    &mut self.possible_leases,
                    report_window_ns.0,
                    at_ns,
                    latest_ns,
                );
            }
            Step::Ended(how) => {
                self.ended = how;
                self.end(at_ns);
            }
            _ => {}
        }
    }
}

/// Returns a flag, `true` if one of these periods contains `at_ns`, and the time until which the flag does not change.
fn runs(leases: &[Lease], at_ns: u64) -> (bool, u64) {
    let next = leases.partition_point(|lease| lease.until_ns <= at_ns);
    match leases.get(next) {
        Some(lease) if lease.from_ns <= at_ns => (true, lease.until_ns),
        Some(lease) => (false, lease.from_ns),
        None => (false, u64::MAX),
    }
}

/// Collects the holds of a history from the steps of its attempts.
#[derive(Debug, Default)]
pub(crate) struct HoldReader {
    /// The holds, in the order in which they began.
    holds: Vec<Hold>,
    /// The index of each attempt's hold in `holds`.
    places: UnderWay<usize>,
    /// The end of the latest act of each leader whose lock answers whether it may act.
    acted_ns: HashMap<u64, u64>,
    /// The leaders that were allowed to act.
    allowed: HashSet<u64>,
}

impl HoldReader {
    /// Processes a step that an attempt made by an event.
    pub fn step(&mut self, event: &Event, attempt: &Attempt, step: Step) {
        if let EventKind::Granted { token, .. } = &event.what
            && step == Step::Begun
        {
            self.places.begin(attempt.op, self.holds.len());
            self.holds.push(Hold::from_grant(attempt, token.clone()));
        } else if let Some(place) = self.places.get(attempt.op) {
            let hold = &mut self.holds[*place];
            if step == Step::Acted {
                let acted_ns = self.acted_ns.entry(attempt.op).or_insert(hold.begin_ns);
                if let EventKind::MayAct { epoch, .. } = event.what {
                    hold.fence = epoch.or(hold.fence);
                    self.allowed.insert(attempt.op);
                }
                if !matches!(event.what, EventKind::Act { .. }) {
                    *acted_ns = event.at_ns;
                }
            }
            hold.step(event.at_ns, attempt, step);
        }
        if matches!(step, Step::Answered { .. } | Step::Gone) {
            self.places.end(attempt.op);
        }
    }

    /// Returns the holds. Active holds end with the history.
    pub fn finish(mut self, history: &History) -> Vec<Hold> {
        let end_ns = history.events.last().map_or(0, |event| event.at_ns);
        let open = self.holds.iter_mut().filter(|hold| hold.end_ns == u64::MAX);
        open.for_each(|hold| hold.end(end_ns));
        if !self.acted_ns.is_empty() {
            for hold in &mut self.holds {
                let acted_ns = self.acted_ns.get(&hold.op).copied();
                hold.is_without_act = acted_ns.is_some() && !self.allowed.contains(&hold.op);
                // A deadline after the recorded end of the hold stays.
                acted_ns
                    .filter(|acted_ns| *acted_ns < hold.end_ns)
                    .into_iter()
                    .for_each(|acted_ns| hold.end(acted_ns));
            }
        }
        self.holds
    }
}

/// Returns all holds of a history, in the order in which they began.
pub(super) fn holds(history: &History) -> Vec<Hold> {
    let mut reader = HoldReader::default();
    let mut tracker = AttemptTracker::new(&history.header);
    for event in &history.events {
        tracker.event(event, |attempt, step| reader.step(event, attempt, step));
    }
    reader.finish(history)
}

//! One run and the runs without some of its faults.

use picklock_impls::BuiltInLock;
use picklock_scenarios::{Phase, Scenario};
use picklock_verdicts::check::{Cause, Property, Status, Verdict, Verdicts, judge};
use picklock_verdicts::history::{Event, EventKind, History, KeyChange};

use crate::simulated::simulate;

/// A lock in a scenario with a seed, which determine a run, and the judge of its history.
#[derive(Clone)]
pub struct Case {
    /// The lock.
    pub lock: &'static BuiltInLock,
    /// The scenario.
    pub scenario: Scenario,
    /// The seed.
    pub seed: u64,
    /// The judge whose causes are checked.
    pub judge: fn(&History) -> Verdicts,
}

/// The events of a run, and its verdicts.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) events: Vec<Event>,
    pub(super) verdicts: Verdicts,
    pub(super) ttl_ns: u64,
}

impl Case {
    /// Creates a case for Picklock's own judge.
    pub fn new(lock: &'static BuiltInLock, scenario: Scenario, seed: u64) -> Self {
        Case {
            lock,
            scenario,
            seed,
            judge,
        }
    }

    /// Runs the case without the faults at these places of its plan. Returns `None` if the rest does not fit the lock.
    pub(super) fn run_without(&self, removed: &[usize], seed: u64) -> Option<Judged> {
        let mut scenario = self.scenario.clone();
        let mut place = 0;
        scenario.faults.retain(|_| {
            place += 1;
            !removed.contains(&(place - 1))
        });
        let history = simulate(self.lock, scenario, seed)?.history;
        Some(Judged {
            verdicts: (self.judge)(&history),
            ttl_ns: history.header.ttl_ms * 1_000_000,
            events: history.events,
        })
    }
}

impl Judged {
    /// Returns the violated properties with their verdicts.
    pub(super) fn violations(&self) -> impl Iterator<Item = (Property, Cause, u64)> {
        self.verdicts.iter().filter_map(|(property, verdict)| {
            let (cause, at_ns) = violation(verdict)?;
            Some((*property, cause, at_ns))
        })
    }

    /// Returns `true` if the property is violated with this cause.
    pub(super) fn has(&self, property: Property, cause: Cause) -> bool {
        self.cause_of(property).is_some_and(|(it, _)| it == cause)
    }

    /// Returns the cause and the time of the violation of a property, or `None` if it is not violated.
    pub(super) fn cause_of(&self, property: Property) -> Option<(Cause, u64)> {
        violation(self.verdicts.get(&property)?)
    }

    /// Returns when the first difference from `other` happened, or `None` if the runs are equal.
    pub(super) fn first_difference_ns(&self, other: &Judged) -> Option<u64> {
        let mut pairs = self.events.iter().zip(&other.events);
        let differs = pairs.find(|(one, other)| one != other);
        differs.map(|(one, other)| one.at_ns.min(other.at_ns))
    }

    /// Returns `true` if each grant of `other` in the two leases before `until_ns` has a match in this run: the same
    /// client got the lock at that time, within a twentieth of a lease.
    pub(super) fn has_grants_of(&self, other: &Judged, until_ns: u64) -> bool {
        let near_ns = self.near_ns();
        let from_ns = until_ns.saturating_sub(2 * self.ttl_ns);
        let until_ns = until_ns.saturating_sub(near_ns);
        let mut wanted = other
            .grants()
            .filter(|(_, ns)| (from_ns..until_ns).contains(ns));
        wanted.all(|(worker, at_ns)| {
            let mut own = self.grants();
            own.any(|(it, own_ns)| it == worker && own_ns.abs_diff(at_ns) <= near_ns)
        })
    }

    /// Returns `true` if the times that decide a property are the same as in `other`.
    pub(super) fn has_moments_of(&self, other: &Judged, property: Property) -> bool {
        let moments = |run: &Judged| -> Vec<u64> {
            let all = run
                .verdicts
                .get(&property)
                .into_iter()
                .flat_map(|it| &it.moments);
            let deciding = all.filter(|it| !it.is_fault && property == Property::Resource);
            deciding.map(|it| it.at_ns).collect()
        };
        let (own, others) = (moments(self), moments(other));
        let is_near = |(one, other): (&u64, &u64)| one.abs_diff(*other) <= self.near_ns();
        own.len() == others.len() && own.iter().zip(&others).all(is_near)
    }

    /// Returns `true` if a value ended in this run without a command, or by an acquisition that treated it as expired,
    /// and did not end in this way at that time in `other`.
    pub(super) fn lost_more_than(&self, other: &Judged) -> bool {
        let losses = |run: &Judged| -> Vec<(u64, KeyChange)> {
            let lost = run.events.iter().filter_map(|event| match &event.what {
                EventKind::KeyChanged { value, why, .. } => {
                    let is_lost = why
                        .command()
                        .is_none_or(|by| by.phase == Phase::Acquire && value.is_none());
                    is_lost.then(|| (event.at_ns, why.clone()))
                }
                _ => None,
            });
            lost.collect()
        };
        let others = losses(other);
        losses(self).iter().any(|loss| !others.contains(loss))
    }

    /// Returns `true` if a hold had ended in this run by `until_ns`, because the lock reported a loss to its client or
    /// the client released it, but had not ended by then in `other`.
    pub(super) fn ended_before(&self, other: &Judged, until_ns: u64) -> bool {
        let by_then = |run: &Judged, is_wanted: fn(&EventKind) -> Option<(usize, u64)>| {
            let events = run.events.iter().take_while(|it| it.at_ns <= until_ns);
            let all: Vec<_> = events.filter_map(|it| is_wanted(&it.what)).collect();
            all
        };
        let (granted, ended) = (by_then(other, grant), by_then(other, end_of_reliance));
        let own = by_then(self, end_of_reliance);
        let mut same = own.iter().filter(|it| granted.contains(it));
        same.any(|it| !ended.contains(it))
    }

    /// Returns the maximum difference of two times that count as equal: a twentieth of a lease.
    pub(super) fn near_ns(&self) -> u64 {
        self.ttl_ns / 20
    }

    fn grants(&self) -> impl Iterator<Item = (usize, u64)> {
        self.events.iter().filter_map(|event| match event.what {
            EventKind::Granted { worker, .. } => Some((worker, event.at_ns)),
            _ => None,
        })
    }

    /// Returns the kind and the time of each fault that fired.
    pub(super) fn fired(&self) -> impl Iterator<Item = (&str, u64)> {
        self.events.iter().filter_map(|event| match &event.what {
            EventKind::FaultBegan { fault, .. } => Some((fault.as_str(), event.at_ns)),
            _ => None,
        })
    }
}

fn grant(what: &EventKind) -> Option<(usize, u64)> {
    match *what {
        EventKind::Granted { worker, op, .. } => Some((worker, op)),
        _ => None,
    }
}

fn end_of_reliance(what: &EventKind) -> Option<(usize, u64)> {
    match *what {
        EventKind::ExtendRefused { worker, op }
        | EventKind::Lost { worker, op }
        | EventKind::Release { worker, op } => Some((worker, op)),
        _ => None,
    }
}

fn violation(verdict: &Verdict) -> Option<(Cause, u64)> {
    let is_violated = verdict.status == Status::Violated;
    is_violated.then_some((verdict.cause?, verdict.at_ns?))
}

//! Why no client got a lock that should have been free, from the key history of its keys.
//!
//! When the wait had become too long, values in the lock's keys blocked it. The cause is the reason for those values
//! without which a client could have reached a quorum. If enough nodes were free at that time, the last values that
//! blocked a quorum during the wait count. If they show no cause, the attempts during the wait may: one had a quorum
//! and was not granted (`WaitsForEveryNode`), each had a part of the nodes (`SplitVote`), they gave back what they had
//! taken (`TakenAndReturned`), they sent no command at all (`StoppedAsking`), or the waiting client slept while the
//! lock was free (`LostWakeUp`).

use std::collections::{HashMap, HashSet};

use picklock_scenarios::Phase;

use crate::check::finding::Starvation;
use crate::check::progress::attempt_times::{AttemptTimes, attempt_times};
use crate::check::verdict::Cause;
use crate::history::{EventKind, History};
use crate::key_history::{KeyHistory, Renewal, SpanEnd, ValueSpan};
use crate::timeline::{FaultSpan, is_rounded_up, ns_from_ms, stops_clients};

/// Maximum number of ends of values, counted from the last one, at which the wait is examined, to bound the cost.
const MAX_EXAMINED_ENDS: usize = 200;

/// A starvation and the evidence that explains it.
pub(in crate::check) struct BlockedLock<'a> {
    history: &'a History,
    faults: &'a [FaultSpan<'a>],
    starvation: Starvation,
    attempts: HashMap<u64, AttemptTimes>,
    /// The values in the lock's keys that may be lock values.
    values: Vec<&'a ValueSpan>,
    /// Number of nodes that the lock uses.
    nodes: usize,
    /// Number of nodes that a grant needs.
    quorum: usize,
}

impl<'a> BlockedLock<'a> {
    pub(in crate::check) fn new(
        history: &'a History,
        faults: &'a [FaultSpan<'a>],
        key_history: &'a KeyHistory,
        starvation: Starvation,
    ) -> Self {
        let attempts = attempt_times(history);
        let lock_of = |op| attempts.get(&op).map(|attempt: &AttemptTimes| attempt.lock);
        let keys = key_history.keys_of(starvation.lock, lock_of);
        let values = (key_history.spans.iter())
            .filter(|span| keys.contains(&span.key) && span.may_be_lock_value())
            .collect();
        let header = &history.header;
        let (nodes, quorum) = match key_history.nodes.only_node(starvation.lock) {
            Some(_) => (1, 1),
            None => (header.nodes, header.quorum.unwrap_or(header.nodes / 2 + 1)),
        };
        BlockedLock {
            history,
            faults,
            starvation,
            attempts,
            values,
            nodes,
            quorum,
        }
    }

    /// Returns why no client got the lock.
    pub(in crate::check) fn cause(&self) -> Cause {
        let blocked = (self.examined_times()).find_map(|at_ns| self.cause_at(at_ns));
        match blocked {
            Some(cause) if cause != Cause::Undetermined => cause,
            _ if self.waited_for_all() => Cause::WaitsForEveryNode,
            _ if self.is_split() => Cause::SplitVote,
            _ if self.returned() > 0 => Cause::TakenAndReturned,
            _ if self.stopped_asking() > 0 => Cause::StoppedAsking,
            // The values that blocked the lock first were gone when the wait had become too long.
            _ if self.cause_at(self.starvation.until_ns).is_none() && self.sleep().is_some() => {
                Cause::LostWakeUp
            }
            _ => Cause::Undetermined,
        }
    }

    /// Returns the values that blocked the lock when the wait had become too long or, if there were none then, the last
    /// ones that did. If several attempts had a part of the nodes each, or no other value blocked the lock, they are
    /// the values of active attempts.
    pub(in crate::check) fn blocking_values(&self) -> Vec<&'a ValueSpan> {
        let blocked_ns = (self.examined_times())
            .find(|at_ns| self.cause_at(*at_ns).is_some())
            .filter(|_| self.cause() != Cause::SplitVote);
        let is_blocking = |span: &&ValueSpan| {
            blocked_ns.is_none_or(|at_ns| !self.is_of_active_attempt(span, at_ns))
        };
        match blocked_ns.or_else(|| self.last_taken_ns()) {
            Some(at_ns) => self.values_at(at_ns).filter(is_blocking).collect(),
            None => Vec::new(),
        }
    }

    /// Returns `true` if the value expires, and the attempt that wrote it was active at this time. Such a value blocks
    /// others too, but its client gives way, or gets the lock, once the values left behind are gone.
    fn is_of_active_attempt(&self, span: &ValueSpan, at_ns: u64) -> bool {
        let author = span.author.as_ref();
        let attempt = author.and_then(|author| self.attempts.get(&author.op));
        attempt.is_some_and(|attempt| {
            let granted_or_refused_ns = attempt.granted_ns.or(attempt.refused_ns);
            let ended_at_ns = [granted_or_refused_ns, attempt.ended_ns, attempt.stopped_ns];
            let is_over = ended_at_ns.into_iter().flatten().any(|ns| ns < at_ns);
            let is_kept =
                self.is_stopped(attempt.worker, at_ns) && is_past_lease(span, attempt, at_ns);
            span.expiry.is_some() && !attempt.in_doubt && !is_over && !is_kept
        })
    }

    /// Returns `true` if a fault stops this client at this time. Such a client does not give way.
    fn is_stopped(&self, worker: usize, at_ns: u64) -> bool {
        let mut faults = self.faults.iter();
        faults.any(|fault| {
            stops_clients(fault.fault)
                && fault.workers.contains(&worker)
                && fault.took_effect()
                && fault.touches(at_ns, at_ns)
        })
    }

    /// Returns `true` if clients went on waiting for longer than the bound after this time.
    fn is_long_free_after(&self, at_ns: u64) -> bool {
        let own = self
            .attempts
            .values()
            .filter(|it| it.lock == self.starvation.lock);
        let later = |ns: &u64| *ns > self.starvation.from_ns;
        let granted_ns = own
            .clone()
            .filter_map(|it| it.granted_ns)
            .filter(later)
            .min();
        let denied_ns = || own.filter_map(|it| it.denied_ns).filter(later).max();
        let bound_ns = ns_from_ms(self.history.header.progress_within_ms);
        granted_ns
            .or_else(denied_ns)
            .is_some_and(|ended_ns| ended_ns > at_ns.saturating_add(bound_ns))
    }

    /// Returns the last time at which the values, including those of active attempts, left no other client a quorum.
    fn last_taken_ns(&self) -> Option<u64> {
        self.examined_times().find(|at_ns| {
            let nodes: HashSet<usize> = self.values_at(*at_ns).map(|span| span.node).collect();
            self.nodes.saturating_sub(nodes.len()) < self.quorum
        })
    }

    /// Returns why a value blocks the lock.
    pub(in crate::check) fn cause_of_value(&self, span: &ValueSpan) -> Cause {
        self.cause_of_value_at(span, self.starvation.until_ns)
    }

    /// Returns the times at which the wait is examined: its end, and the last nanosecond of each value that ended
    /// during the wait, latest first. The value that blocked the lock may have ended just before the bound was reached.
    fn examined_times(&self) -> impl Iterator<Item = u64> {
        let is_within = |ns: &u64| (self.starvation.from_ns..self.starvation.until_ns).contains(ns);
        let ends = self
            .values
            .iter()
            .map(|span| span.until_ns.saturating_sub(1));
        let mut ends: Vec<u64> = ends.filter(is_within).collect();
        ends.sort_unstable_by(|one, other| other.cmp(one));
        std::iter::once(self.starvation.until_ns).chain(ends.into_iter().take(MAX_EXAMINED_ENDS))
    }

    fn values_at(&self, at_ns: u64) -> impl Iterator<Item = &'a ValueSpan> {
        let values = self.values.iter().copied();
        values.filter(move |span| span.exists_at(at_ns))
    }

    /// Returns why the free nodes were not a quorum at this time, or `None` if they were.
    fn cause_at(&self, at_ns: u64) -> Option<Cause> {
        let blocking: Vec<(usize, Cause)> = (self.values_at(at_ns))
            .filter(|span| !self.is_of_active_attempt(span, at_ns))
            .map(|span| (span.node, self.cause_of_value_at(span, at_ns)))
            .collect();
        let is_free_without = |removed: Option<Cause>| {
            let remaining = blocking.iter().filter(|(_, cause)| Some(*cause) != removed);
            let blocked: HashSet<usize> = remaining.map(|(node, _)| *node).collect();
            self.nodes.saturating_sub(blocked.len()) >= self.quorum
        };
        if is_free_without(None) {
            return None;
        }
        let mut causes = blocking.iter().map(|(_, cause)| *cause);
        let decisive = causes.find(|cause| is_free_without(Some(*cause)));
        Some(decisive.unwrap_or(Cause::Undetermined))
    }

    /// Returns why a value that exists at this time blocks the lock.
    fn cause_of_value_at(&self, span: &ValueSpan, at_ns: u64) -> Cause {
        let Some(expiry) = span.expiry else {
            return Cause::NoTtl;
        };
        let author = span.author.as_ref();
        let Some(owner) = author.and_then(|author| self.attempts.get(&author.op)) else {
            return Cause::Undetermined;
        };
        let exists_at_end = at_ns >= self.starvation.until_ns;
        let is_renewed = exists_at_end || span.is_renewed();
        let written_ns = written_life_ns(span, expiry.ttl_ns(), at_ns);
        // A value that is gone explains the wait only if it existed for longer than the lease, and if the wait after
        // its end was not too long by itself.
        let is_too_long = |written_ns: u64| {
            let margin_ns = ns_from_ms(self.history.header.declares.lease_margin_ms);
            let longest_ns = owner.ttl_ns.saturating_add(margin_ns);
            let was_there_longer = at_ns > span.from_ns.saturating_add(longest_ns);
            (exists_at_end || was_there_longer && !self.is_long_free_after(span.until_ns))
                && written_ns > longest_ns
                && !is_rounded_up(written_ns, owner.ttl_ns)
        };
        match owner {
            owner if owner.lock != self.starvation.lock => Cause::SharedKey,
            _ if is_kept_by_others(span, at_ns) => Cause::ForeignRenewal,
            // The value of that attempt should have expired long ago, so something keeps renewing it.
            owner if owner.in_doubt && is_renewed && !took_back(span) => Cause::AmbiguousAcquire,
            owner if self.renewed_after(span, owner.refused_ns) => Cause::AmbiguousAcquire,
            owner if self.renewed_after(span, owner.released_ns) => Cause::RenewedAfterRelease,
            owner if self.renewed_after(span, owner.ended_ns) => Cause::RenewedAfterEnd,
            owner if outlasted(span, owner.answered_ns) && owner.is_answer_silent => {
                Cause::SilentRelease
            }
            owner if outlasted(span, owner.answered_ns) => Cause::FalseRelease,
            _ if written_ns.is_some_and(is_too_long) => Cause::WrongExpiry,
            _ => Cause::Undetermined,
        }
    }

    /// Returns `true` if the worker that wrote the value prolonged it after `ended_at_ns`. Commands of a later grant
    /// that rests on the same value do not count, and neither do commands of a release, nor those that had been
    /// forwarded by then and were observed later.
    fn renewed_after(&self, span: &ValueSpan, ended_at_ns: Option<u64>) -> bool {
        let (Some(author), Some(ended_at_ns)) = (&span.author, ended_at_ns) else {
            return false;
        };
        let is_granted = |op: &u64| {
            let attempt = self.attempts.get(op);
            attempt.is_some_and(|attempt| attempt.granted_ns.is_some())
        };
        span.renewals.iter().any(|renewal| {
            let is_of_later_grant = renewal.by.op != author.op && is_granted(&renewal.by.op);
            renewal.by.worker == author.worker
                && renewal.by.forwarded_at_ns.unwrap_or(renewal.at_ns) > ended_at_ns
                && renewal.prolongs()
                && !is_of_later_grant
                && renewal.by.phase != Phase::Release
        })
    }

    /// Returns the span in which the waiting client slept, or waited for a lost reply, if it sent no command that could
    /// take a lock during the whole starvation.
    pub(in crate::check) fn sleep(&self) -> Option<(u64, u64)> {
        let wait = &self.starvation;
        let probe = self.history.header.workers;
        let client = (wait.worker.unwrap_or(probe), wait.late_timeout);
        let covers = |from_ns, until_ns| from_ns <= wait.from_ns && until_ns >= wait.until_ns;
        let mut events = self.history.events.iter();
        events.find_map(|event| match event.what {
            EventKind::IdleWhileWaiting {
                worker,
                from_ns,
                until_ns,
                late_timeout,
                ..
            } if (worker, late_timeout) == client && covers(from_ns, until_ns) => {
                Some((from_ns, until_ns))
            }
            _ => None,
        })
    }

    /// Returns `true` if an attempt during the wait had a quorum but was not granted by its end, while a fault kept
    /// other nodes away.
    fn waited_for_all(&self) -> bool {
        if self.nodes < 2 {
            return false;
        }
        let (from_ns, until_ns) = (self.starvation.from_ns, self.starvation.until_ns);
        let is_acquired = |span: &&ValueSpan| {
            let acquires = span.phase() == Some(Phase::Acquire);
            acquires && span.from_ns < until_ns && span.until_ns > from_ns
        };
        let taken = nodes_by_attempt(self.values.iter().copied().filter(is_acquired));
        let lost: HashSet<usize> = (self.faults.iter())
            .filter(|fault| fault.took_effect() && fault.touches(from_ns, until_ns))
            .flat_map(|fault| fault.nodes)
            .copied()
            .collect();
        let is_denied = |op: &u64| {
            let attempt = self.attempts.get(op);
            attempt.is_some_and(|attempt| attempt.granted_ns.is_none_or(|ns| ns > until_ns))
        };
        taken.iter().any(|(op, nodes)| {
            nodes.len() >= self.quorum && is_denied(op) && !lost.is_subset(nodes)
        })
    }

    /// Returns the attempts that were active during the wait and were denied. Such an attempt may begin before the wait
    /// and end after its bound.
    fn denied(&self) -> impl Iterator<Item = (&u64, &AttemptTimes)> {
        let (from_ns, until_ns) = (self.starvation.from_ns, self.starvation.until_ns);
        self.attempts.iter().filter(move |(_, attempt)| {
            attempt.lock == self.starvation.lock
                && attempt.requested_at_ns <= until_ns
                && attempt
                    .denied_ns
                    .is_some_and(|denied_ns| denied_ns >= from_ns)
        })
    }

    /// Returns the number of attempts during the wait that were denied without a command to any node, or 0 if any other
    /// attempt was denied.
    pub(in crate::check) fn stopped_asking(&self) -> usize {
        let is_silent = self.denied().all(|(_, attempt)| attempt.is_silent);
        if is_silent { self.denied().count() } else { 0 }
    }

    /// Returns the number of attempts during the wait that had a quorum, and gave it back without a grant. Returns 0 if
    /// there were fewer than two, because a single attempt may have had a reason.
    pub(in crate::check) fn returned(&self) -> usize {
        let gave_back = self.values.iter().copied().filter(|span| took_back(span));
        let taken = nodes_by_attempt(gave_back);
        let (from_ns, until_ns) = (self.starvation.from_ns, self.starvation.until_ns);
        let is_within = |it: &AttemptTimes| {
            from_ns <= it.requested_at_ns && it.denied_ns.is_some_and(|ns| ns <= until_ns)
        };
        let denied = self.denied().filter(|(_, attempt)| is_within(attempt));
        let returned = denied.filter(|(op, _)| {
            let nodes = taken.get(op).map_or(0, HashSet::len);
            nodes >= self.quorum
        });
        match returned.count() {
            1 => 0,
            count => count,
        }
    }

    /// Returns `true` if several attempts had a part of the nodes when the wait had become too long, or less than a
    /// lease before, and none had a quorum. A client that lost its part earlier had the time to try again.
    fn is_split(&self) -> bool {
        let is_late = |at_ns: &u64| {
            let mut ttls = self.attempts.values().map(|attempt| attempt.ttl_ns);
            ttls.any(|ttl_ns| at_ns.saturating_add(ttl_ns) >= self.starvation.until_ns)
        };
        let Some(at_ns) = self.last_taken_ns().filter(is_late) else {
            return false;
        };
        let taken = nodes_by_attempt(self.values_at(at_ns));
        taken.len() > 1 && taken.values().all(|nodes| nodes.len() < self.quorum)
    }
}

/// Returns the life that the acquisition had given the value by this time, in nanoseconds, or `None` if another
/// command had changed it last. `first_ns` is the life with which it was written, if nothing renewed it.
fn written_life_ns(span: &ValueSpan, first_ns: u64, at_ns: u64) -> Option<u64> {
    let is_acquired = |renewal: &Renewal| {
        renewal.by.phase == Phase::Acquire && span.is_of(renewal.by.worker, renewal.by.op)
    };
    let mut renewals = span.renewals.iter();
    match renewals.rfind(|renewal| renewal.at_ns <= at_ns) {
        Some(last) => is_acquired(last).then(|| last.until_ns().saturating_sub(last.at_ns)),
        None => Some(
            (span.renewals.first())
                .map_or(first_ns, |first| first.due_ns.saturating_sub(span.from_ns)),
        ),
    }
}

/// Returns the nodes on which each attempt has written some of these values.
fn nodes_by_attempt<'a>(
    spans: impl Iterator<Item = &'a ValueSpan>,
) -> HashMap<u64, HashSet<usize>> {
    let mut nodes: HashMap<u64, HashSet<usize>> = HashMap::new();
    for span in spans {
        if let Some(author) = &span.author {
            nodes.entry(author.op).or_default().insert(span.node);
        }
    }
    nodes
}

/// Returns `true` if the value would have expired by `at_ns` without the renewals of workers that did not write it, or
/// if those renewals alone have kept it alive.
fn is_kept_by_others(span: &ValueSpan, at_ns: u64) -> bool {
    // A command that gives a value its first expiry prolongs nothing.
    let first_expiries = span.renewals.iter().take_while(|it| it.due_ns == u64::MAX);
    let renewals = &span.renewals[first_expiries.count()..];
    let (Some(first), Some(author)) = (renewals.first(), &span.author) else {
        return false;
    };
    // Returns when the value would have expired with only the foreign renewals, or with only the others.
    let expires_with = |is_foreign: bool| {
        (renewals.iter())
            .filter(|renewal| (renewal.by.worker != author.worker) == is_foreign)
            .fold(first.due_ns, |due_ns, renewal| {
                if renewal.at_ns <= due_ns {
                    due_ns.max(renewal.until_ns())
                } else {
                    due_ns
                }
            })
    };
    span.foreign_renewals().any(Renewal::prolongs)
        && first.due_ns <= at_ns
        && (expires_with(false) <= at_ns || expires_with(true) > at_ns)
}

/// Returns `true` if the value still existed when the release was answered, and no command of its own client removed it
/// later.
fn outlasted(span: &ValueSpan, answered_ns: Option<u64>) -> bool {
    let author = span.author.as_ref().map(|author| author.worker);
    let was_in_flight = matches!(&span.end, SpanEnd::Removed(by) if Some(by.worker) == author);
    answered_ns.is_some_and(|answered_ns| span.exists_at(answered_ns)) && !was_in_flight
}

/// Returns `true` if the value is older than its lease, rounded up to a second, and was not renewed.
fn is_past_lease(span: &ValueSpan, attempt: &AttemptTimes, at_ns: u64) -> bool {
    let second_ns = ns_from_ms(1000);
    let longest_ns = attempt.ttl_ns.div_ceil(second_ns) * second_ns;
    let mut renewals = span.renewals.iter();
    at_ns > span.from_ns.saturating_add(longest_ns) && !renewals.any(|it| it.at_ns <= at_ns)
}

/// Returns `true` if the attempt that wrote the value removed it while it was still active, and so left nothing.
fn took_back(span: &ValueSpan) -> bool {
    matches!(&span.end, SpanEnd::Removed(by) if by.phase == Phase::Acquire && span.is_of(by.worker, by.op))
}

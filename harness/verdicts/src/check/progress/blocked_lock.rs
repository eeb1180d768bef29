//! Why nobody got a lock that was free, from the key history of its keys.
//!
//! When the wait had lasted for too long, values stood in the lock's keys. The cause is why those
//! stood without which a client could have had as many nodes as it needs. If enough nodes were free
//! then, those count that stood last during the wait. If they show no cause, what the attempts of that
//! time did shows it: one had a quorum and was not granted, each had a part of one, or the client that
//! waited slept while the lock was free.

use std::collections::{HashMap, HashSet};

use picklock_scenarios::Phase;

use crate::history::{EventKind, History};
use crate::key_history::{KeyHistory, Renewal, SpanEnd, ValueSpan};
use crate::timeline::{FaultSpan, is_rounded_up, ms};

use crate::check::finding::Starvation;
use crate::check::verdict::Cause;

/// At how many ends of values the wait is looked at, the last ones: many small values of no consequence
/// must not make it long.
const MAX_INJECTION_POINTS: usize = 200;

/// An attempt to take a lock.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    worker: usize,
    lock: u32,
    ttl_ns: u64,
    /// It ended without a certain answer.
    in_doubt: bool,
    /// When it was refused, or given up.
    refused_ns: Option<u64>,
    /// When its grant arrived.
    granted_ns: Option<u64>,
    /// When it was told to release.
    released_ns: Option<u64>,
    /// When that was answered, whatever the answer says of its success.
    answered_ns: Option<u64>,
    /// When its client ended, if it had not been told to release before.
    ended_ns: Option<u64>,
}

/// What a starvation is explained from.
pub(in crate::check) struct BlockedLock<'a> {
    history: &'a History,
    faults: &'a [FaultSpan<'a>],
    starvation: Starvation,
    asked: HashMap<u64, Asked>,
    /// The values that the lock may rest on.
    claims: Vec<&'a ValueSpan>,
    /// How many nodes the lock uses, and how many of them a grant needs.
    nodes: usize,
    quorum: usize,
}

impl<'a> BlockedLock<'a> {
    pub(in crate::check) fn new(
        history: &'a History,
        faults: &'a [FaultSpan<'a>],
        key_history: &'a KeyHistory,
        starvation: Starvation,
    ) -> Self {
        let asked = asked(history);
        let lock_of = |op| asked.get(&op).map(|attempt: &Asked| attempt.lock);
        let keys = key_history.keys_of(starvation.key, lock_of);
        let claims = (key_history.spans.iter())
            .filter(|span| keys.contains(&span.key) && span.may_be_lock_value())
            .collect();
        let header = &history.header;
        let (nodes, quorum) = match key_history.nodes.only_node(starvation.key) {
            Some(_) => (1, 1),
            None => (header.nodes, header.quorum.unwrap_or(header.nodes / 2 + 1)),
        };
        BlockedLock {
            history,
            faults,
            starvation,
            asked,
            claims,
            nodes,
            quorum,
        }
    }

    /// Why nobody got the lock.
    pub(in crate::check) fn cause(&self) -> Cause {
        let blocked = self
            .injection_points()
            .find_map(|at_ns| self.blocking(at_ns));
        match blocked {
            Some(cause) if cause != Cause::Undetermined => cause,
            _ if self.waited_for_all() => Cause::WaitsForEveryNode,
            _ if self.is_split() => Cause::SplitVote,
            // What stood there first went, and it was free when the wait had lasted for too long.
            _ if self.blocking(self.starvation.until_ns).is_none() && self.sleep().is_some() => {
                Cause::LostWakeUp
            }
            _ => Cause::Undetermined,
        }
    }

    /// The values that kept the client out when it had waited for too long; if there were none then, those that did so
    /// last. Where several have a part of the nodes each, or nothing else stood, they are those of attempts under way.
    pub(in crate::check) fn current_values(&self) -> Vec<&'a ValueSpan> {
        let is_left = |at_ns: &u64| self.blocking(*at_ns).is_some();
        let left_ns = self.injection_points().find(is_left);
        let left_ns = left_ns.filter(|_| self.cause() != Cause::SplitVote);
        let is_left = |span: &&ValueSpan| left_ns.is_none_or(|at_ns| !self.is_try(span, at_ns));
        let at_ns = left_ns.or_else(|| self.taken_last_ns());
        let current_values = at_ns
            .into_iter()
            .flat_map(|at_ns| self.current_values_at(at_ns));
        current_values.filter(is_left).collect()
    }

    /// True if it was written by an attempt that was under way at this time, and runs out. That keeps others out as well;
    /// but who waits like them gives way, or gets the lock, once what was left there is gone.
    fn is_try(&self, span: &ValueSpan, at_ns: u64) -> bool {
        let author = span.author.as_ref();
        let attempt = author.and_then(|author| self.asked.get(&author.op));
        attempt.is_some_and(|attempt| {
            let ended_at_ns = [attempt.granted_ns, attempt.refused_ns, attempt.ended_ns];
            let is_over = ended_at_ns.into_iter().flatten().any(|ns| ns < at_ns);
            span.expiry.is_some() && !attempt.in_doubt && !is_over
        })
    }

    /// When the values that stood, those of attempts under way among them, last left nobody else a quorum.
    fn taken_last_ns(&self) -> Option<u64> {
        self.injection_points().find(|at_ns| {
            let nodes: HashSet<usize> = self
                .current_values_at(*at_ns)
                .map(|span| span.node)
                .collect();
            self.nodes.saturating_sub(nodes.len()) < self.quorum
        })
    }

    /// Why a value keeps others out.
    pub(in crate::check) fn why(&self, span: &ValueSpan) -> Cause {
        self.of_value(span, self.starvation.until_ns)
    }

    /// When the wait had lasted for too long, and before that the last moments of the values that went. What
    /// kept the client out may have ended just before the bound was reached.
    fn injection_points(&self) -> impl Iterator<Item = u64> {
        let within = |ns: &u64| (self.starvation.from_ns..self.starvation.until_ns).contains(ns);
        let ends = (self.claims.iter()).map(|span| span.until_ns.saturating_sub(1));
        let mut ends: Vec<u64> = ends.filter(within).collect();
        ends.sort_unstable_by(|one, other| other.cmp(one));
        std::iter::once(self.starvation.until_ns).chain(ends.into_iter().take(MAX_INJECTION_POINTS))
    }

    fn current_values_at(&self, at_ns: u64) -> impl Iterator<Item = &'a ValueSpan> {
        let claims = self.claims.iter().copied();
        claims.filter(move |span| span.exists_at(at_ns))
    }

    /// Why the nodes are no quorum that nothing was left on at this time. `None`: they are one.
    fn blocking(&self, at_ns: u64) -> Option<Cause> {
        let blocks: Vec<(usize, Cause)> = self
            .current_values_at(at_ns)
            .filter(|span| !self.is_try(span, at_ns))
            .map(|span| (span.node, self.of_value(span, at_ns)))
            .collect();
        let without = |cause: Option<Cause>| {
            let left = blocks.iter().filter(|(_, why)| Some(*why) != cause);
            let blocked: HashSet<usize> = left.map(|(node, _)| *node).collect();
            self.nodes.saturating_sub(blocked.len()) >= self.quorum
        };
        if without(None) {
            return None;
        }
        let mut causes = blocks.iter().map(|(_, why)| *why);
        let why = causes.find(|why| without(Some(*why)));
        Some(why.unwrap_or(Cause::Undetermined))
    }

    /// Why a value that stands in a key of this lock keeps others out.
    fn of_value(&self, span: &ValueSpan, at_ns: u64) -> Cause {
        let Some(expiry) = span.expiry else {
            return Cause::NoTtl;
        };
        let author = span.author.as_ref();
        let Some(owner) = author.and_then(|author| self.asked.get(&author.op)) else {
            return Cause::Undetermined;
        };
        let stands_at_last = at_ns >= self.starvation.until_ns;
        let renewed = stands_at_last || span.is_renewed();
        // One that went has left the lock free, however long it was written for.
        let is_longer = || {
            let written_ns = expiry.ttl_ns().max(owner.ttl_ns);
            stands_at_last && !is_rounded_up(written_ns, owner.ttl_ns)
        };
        match owner {
            owner if owner.lock != self.starvation.key => Cause::SharedKey,
            _ if is_kept_by_others(span, at_ns) => Cause::ForeignRenewal,
            // What that attempt left should have expired long ago, so something keeps renewing it.
            owner if owner.in_doubt && renewed && !took_back(span) => Cause::AmbiguousAcquire,
            owner if self.renewed_after(span, owner.refused_ns) => Cause::AmbiguousAcquire,
            owner if self.renewed_after(span, owner.released_ns) => Cause::RenewedAfterRelease,
            owner if self.renewed_after(span, owner.ended_ns) => Cause::RenewedAfterEnd,
            owner if outlasted(span, owner.answered_ns) => Cause::FalseRelease,
            _ if span.renewals.is_empty() && is_longer() => Cause::WrongExpiry,
            _ => Cause::Undetermined,
        }
    }

    /// True if the worker that wrote the value prolonged it after it had been told to release it, or was refused. What a
    /// later grant of its own rests on as well is prolonged by no renewal, nor by a release that counts.
    fn renewed_after(&self, span: &ValueSpan, ended_at_ns: Option<u64>) -> bool {
        let Some(author) = &span.author else {
            return false;
        };
        let granted = |op| {
            let attempt: Option<&Asked> = self.asked.get(op);
            attempt.is_some_and(|attempt| attempt.granted_ns.is_some())
        };
        let mut own = (span.renewals.iter()).filter(|renewal| {
            let is_taken_up = renewal.by.op != author.op && granted(&renewal.by.op);
            let is_release = renewal.by.phase == Phase::Release;
            let is_renewal = renewal.prolongs() && !is_taken_up && !is_release;
            renewal.by.worker == author.worker && is_renewal
        });
        ended_at_ns.is_some_and(|ended_at_ns| own.any(|renewal| renewal.at_ns > ended_at_ns))
    }

    /// The client that waited slept meanwhile, from when to when: it sent nothing that could take a lock.
    pub(in crate::check) fn sleep(&self) -> Option<(u64, u64)> {
        let wait = &self.starvation;
        let client = wait.worker.unwrap_or(self.history.header.workers);
        let mut events = self.history.events.iter();
        events.find_map(|event| match event.what {
            EventKind::IdleWhileWaiting {
                worker,
                from_ns,
                until_ns,
                ..
            } if worker == client && from_ns <= wait.from_ns && until_ns >= wait.until_ns => {
                Some((from_ns, until_ns))
            }
            _ => None,
        })
    }

    /// True if an attempt of that time had a quorum, was not granted, and a fault kept other nodes away.
    fn waited_for_all(&self) -> bool {
        if self.nodes < 2 {
            return false;
        }
        let (from_ns, until_ns) = (self.starvation.from_ns, self.starvation.until_ns);
        let stood = |span: &&ValueSpan| {
            let acquires = span.phase() == Some(Phase::Acquire);
            acquires && span.from_ns < until_ns && span.until_ns > from_ns
        };
        let taken = nodes_of_each(self.claims.iter().copied().filter(stood));
        let lost = (self.faults.iter())
            .filter(|fault| fault.took_effect() && fault.touches(from_ns, until_ns))
            .flat_map(|fault| fault.nodes);
        let lost: HashSet<usize> = lost.copied().collect();
        let is_denied = |op| {
            let attempt: Option<&Asked> = self.asked.get(op);
            attempt.is_some_and(|attempt| attempt.granted_ns.is_none())
        };
        taken.iter().any(|(op, nodes)| {
            nodes.len() >= self.quorum && is_denied(op) && !lost.is_subset(nodes)
        })
    }

    /// True if several attempts had a part of the nodes when the wait had lasted for too long, or less than a lease
    /// before, and none had enough. Who lost its part earlier had the time to try again.
    fn is_split(&self) -> bool {
        let mut attempts = self.asked.values();
        let mut is_late = |at_ns: u64| {
            attempts.any(|attempt| at_ns.saturating_add(attempt.ttl_ns) >= self.starvation.until_ns)
        };
        let Some(at_ns) = self.taken_last_ns().filter(|at_ns| is_late(*at_ns)) else {
            return false;
        };
        let taken = nodes_of_each(self.current_values_at(at_ns));
        taken.len() > 1 && taken.values().all(|nodes| nodes.len() < self.quorum)
    }
}

/// The nodes on which each attempt has written some of these values.
fn nodes_of_each<'a>(spans: impl Iterator<Item = &'a ValueSpan>) -> HashMap<u64, HashSet<usize>> {
    let mut nodes: HashMap<u64, HashSet<usize>> = HashMap::new();
    for span in spans {
        if let Some(author) = &span.author {
            nodes.entry(author.op).or_default().insert(span.node);
        }
    }
    nodes
}

/// True if the value would have been over by then, had not other workers than the one that wrote it
/// prolonged it: their renewals alone have kept it alive, or it would not have lasted without them.
fn is_kept_by_others(span: &ValueSpan, at_ns: u64) -> bool {
    // What gives a value its first expiry prolongs nothing.
    let given = span.renewals.iter().take_while(|it| it.due_ns == u64::MAX);
    let renewals = &span.renewals[given.count()..];
    let (Some(first), Some(author)) = (renewals.first(), &span.author) else {
        return false;
    };
    // How long it would have lived with these renewals only.
    let lived = |foreign: bool| {
        let some = renewals.iter();
        let some = some.filter(|renewal| (renewal.by.worker != author.worker) == foreign);
        some.fold(first.due_ns, |due_ns, renewal| {
            match renewal.at_ns <= due_ns {
                true => due_ns.max(renewal.until_ns()),
                false => due_ns,
            }
        })
    };
    let any = span.foreign_renewals().any(Renewal::prolongs);
    any && first.due_ns <= at_ns && (lived(false) <= at_ns || lived(true) > at_ns)
}

/// True if the value still stood when the release had been answered, and no command of its own client removed it.
fn outlasted(span: &ValueSpan, answered_ns: Option<u64>) -> bool {
    let author = span.author.as_ref().map(|author| author.worker);
    let was_under_way = matches!(&span.end, SpanEnd::Removed(by) if Some(by.worker) == author);
    answered_ns.is_some_and(|answered_ns| span.exists_at(answered_ns)) && !was_under_way
}

fn asked(history: &History) -> HashMap<u64, Asked> {
    let mut asked: HashMap<u64, Asked> = HashMap::new();
    for event in &history.events {
        match event.what {
            EventKind::Acquire {
                worker,
                op,
                key,
                ttl_ms,
                ..
            } => {
                let attempt = Asked {
                    worker,
                    lock: key,
                    ttl_ns: ms(ttl_ms),
                    ..Asked::default()
                };
                asked.insert(op, attempt);
            }
            EventKind::WorkerDown { worker, .. } => {
                let own = asked.values_mut().filter(|it| it.worker == worker);
                for attempt in own.filter(|attempt| attempt.released_ns.is_none()) {
                    attempt.ended_ns.get_or_insert(event.at_ns);
                }
            }
            _ => {
                let attempt = event.what.attempt();
                let Some(attempt) = attempt.and_then(|(_, op)| asked.get_mut(&op)) else {
                    continue;
                };
                let at_ns = Some(event.at_ns);
                match event.what {
                    EventKind::AcquireFailed {
                        definite: false, ..
                    } => attempt.in_doubt = true,
                    EventKind::Refused { .. } => attempt.refused_ns = at_ns,
                    EventKind::Granted { .. } => attempt.granted_ns = at_ns,
                    EventKind::Release { .. } => attempt.released_ns = at_ns,
                    EventKind::Released { .. } => attempt.answered_ns = at_ns,
                    _ => {}
                }
            }
        }
    }
    asked
}

/// True if the attempt that wrote the value removed it while it was still under way: it left nothing.
fn took_back(span: &ValueSpan) -> bool {
    matches!(&span.end, SpanEnd::Removed(by) if by.phase == Phase::Acquire && span.is_of(by.worker, by.op))
}

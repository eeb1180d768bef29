//! Claims about the course of a hold: that its lease goes on, that it is lost, and that it is over.

use std::collections::{BTreeSet, HashMap};

use picklock_scenarios::Phase;

use crate::check::claims::promised_renewal::{concerns, disturbed_ns, ended_clients_ns};
use crate::check::finding::Claim;
use crate::check::stalls::thresholds::{ENDING_ANYWAY, TIME_LEFT};
use crate::history::{EventKind, History, KeyName};
use crate::key_history::{SpanEnd, ValueSpan};
use crate::timeline::{FaultSpan, Hold, Timeline, is_instantaneous, ms_from_ns, ns_from_ms};

/// The reports of the lock about each attempt.
#[derive(Debug, Default)]
pub(in crate::check) struct Reports {
    /// When the loss of each hold was first reported, by attempt.
    pub(in crate::check) losses: HashMap<u64, u64>,
    /// When each release was answered, and the answer, by attempt.
    pub(in crate::check) releases: HashMap<u64, (u64, Option<bool>)>,
}

impl Reports {
    pub(in crate::check) fn from_history(history: &History) -> Self {
        let mut reports = Reports::default();
        for event in &history.events {
            match event.what {
                EventKind::Lost { op, .. } => {
                    reports.losses.entry(op).or_insert(event.at_ns);
                }
                EventKind::Released { op, released, .. } => {
                    reports.releases.insert(op, (event.at_ns, released));
                }
                _ => {}
            }
        }
        reports
    }
}

/// Returns the number of nodes on which one of these values existed at this time.
fn nodes_at(own: &[&ValueSpan], at_ns: u64) -> usize {
    let existing = own.iter().filter(|span| span.exists_at(at_ns));
    existing
        .map(|span| span.node)
        .collect::<BTreeSet<usize>>()
        .len()
}

/// Returns the attempt's values in the keys with which it took the lock.
fn lock_values<'a>(own: &[&'a ValueSpan]) -> Vec<&'a ValueSpan> {
    let taken: BTreeSet<&KeyName> = (own.iter())
        .filter(|span| span.phase() == Some(Phase::Acquire) && span.may_be_lock_value())
        .map(|span| &span.key)
        .collect();
    let is_lock = |span: &&&ValueSpan| taken.contains(&span.key) && span.may_be_lock_value();
    own.iter().filter(is_lock).copied().collect()
}

/// The course of one hold.
pub(in crate::check) struct Course<'a, 'h> {
    pub(in crate::check) timeline: &'a Timeline<'h>,
    /// All values of the attempt.
    pub(in crate::check) own: &'a [&'a ValueSpan],
    pub(in crate::check) hold: &'a Hold,
    /// Number of nodes that the grant must rest on.
    pub(in crate::check) quorum: usize,
    /// The keys that every grant of the lock has written.
    pub(in crate::check) keys: &'a [KeyName],
}

impl Course<'_, '_> {
    /// Returns the false claims about this hold: the time of each, its subject, and the observation.
    pub(in crate::check) fn false_claims(&self, reports: &Reports) -> Vec<(u64, Claim, String)> {
        let (worker, op) = (self.hold.worker, self.hold.op);
        let mut found = Vec::new();
        if let Some((at_ns, gone_ns)) = self.recreated_ns() {
            let statement = format!(
                "a renewal of client {worker} wrote its value again, {} ms after it had gone",
                ms_from_ns(gone_ns)
            );
            found.push((at_ns, Claim::Recreation, statement));
        }
        if let Some(at_ns) = reports.losses.get(&op).copied()
            && self.is_false_loss(at_ns)
        {
            let statement = format!(
                "client {worker} reported a loss, although its value still existed with time left"
            );
            found.push((at_ns, Claim::Loss, statement));
        }
        if let Some(&(at_ns, Some(_))) = reports.releases.get(&op)
            && let Some(key) = self.blocking_rest(at_ns)
        {
            let locks = &self.timeline.history().header.keys;
            let statement = format!(
                "client {worker} reported that it had released the lock, but its value stayed in `{}`, and no other \
                 client got the lock until it had expired",
                key.text(locks)
            );
            found.push((at_ns, Claim::Release, statement));
        }
        found
    }

    /// Returns when a renewal or an extension recreated a value of this holder that had disappeared, and how long the
    /// value had been gone, in nanoseconds. A value that is recreated while the values on the other nodes are a quorum
    /// does not count.
    fn recreated_ns(&self) -> Option<(u64, u64)> {
        let (own, hold) = (lock_values(self.own), self.hold);
        own.iter().find_map(|span| {
            let renews = matches!(span.phase(), Some(Phase::Idle | Phase::Extend));
            let is_within = (hold.begin_ns..hold.end_ns).contains(&span.from_ns);
            let is_before = |other: &&&ValueSpan| {
                (other.node, &other.key) == (span.node, &span.key)
                    && other.until_ns <= span.from_ns
                    && other.from_ns < span.from_ns
            };
            let gone_ns = own
                .iter()
                .filter(is_before)
                .map(|other| other.until_ns)
                .max()?;
            let on_others = own.iter().filter(|other| other.node != span.node);
            let others: Vec<&ValueSpan> = on_others.copied().collect();
            let is_lost = nodes_at(&others, span.from_ns) < self.quorum;
            (renews && is_within && is_lost).then_some((span.from_ns, span.from_ns - gone_ns))
        })
    }

    /// Returns `true` if the loss that was reported at `at_ns` had not happened: the value existed on a quorum with
    /// time left, and neither a fault nor a stall could have kept a renewal or its answer from the client.
    fn is_false_loss(&self, at_ns: u64) -> bool {
        let (timeline, hold) = (self.timeline, self.hold);
        // A command that a fault held back may have renewed the value after the client had given it up.
        let since_ns = at_ns.saturating_sub(hold.ttl_ns).max(hold.acquire_ns);
        let is_active = |fault: &FaultSpan<'_>| {
            concerns(fault, hold.worker) && fault.may_hold_data(since_ns, at_ns)
        };
        if at_ns > hold.end_ns || timeline.faults().iter().any(is_active) {
            return false;
        }
        let stalled_ns = disturbed_ns(timeline, hold.worker, (since_ns, at_ns), |fault| {
            concerns(fault, hold.worker)
        });
        let stalled_ns = stalled_ns.unwrap_or(hold.ttl_ns).saturating_mul(2);
        let left_ns = TIME_LEFT.part_of(hold.ttl_ns).saturating_add(stalled_ns);
        let mut own = lock_values(self.own);
        own.retain(|span| span.due_ns(at_ns) > at_ns.saturating_add(left_ns));
        nodes_at(&own, at_ns) >= self.quorum
    }

    /// Returns a key in which a value of this holder stayed after its release was answered at `at_ns`, and blocked the
    /// lock: another client wanted the lock, no fault kept it away, and no client got the lock before the value
    /// expired.
    fn blocking_rest(&self, at_ns: u64) -> Option<&KeyName> {
        let (history, hold) = (self.timeline.history(), self.hold);
        let clients_end_ns = ended_clients_ns(history);
        let until_ns = |span: &ValueSpan| span.until_ns.min(clients_end_ns);
        let stays_until_ns = at_ns.saturating_add(ENDING_ANYWAY.part_of(hold.ttl_ns));
        let held_on_ns = at_ns.saturating_add(ns_from_ms(history.header.declares.min_hold_ms));
        let stays = |span: &&&ValueSpan| {
            matches!(span.end, SpanEnd::RanOut | SpanEnd::Stays)
                && self.keys.contains(&span.key)
                && span.may_be_lock_value()
                && span.from_ns <= hold.end_ns
                && until_ns(span) > stays_until_ns.max(held_on_ns)
        };
        let rests: Vec<&&ValueSpan> = self.own.iter().filter(stays).collect();
        let nodes: BTreeSet<usize> = rests.iter().map(|span| span.node).collect();
        let blocked_until_ns = rests.iter().map(|span| until_ns(span)).min()?;
        let mut holds = self.timeline.holds().iter();
        let is_granted = holds.any(|other| {
            let is_meanwhile = (at_ns..blocked_until_ns).contains(&other.begin_ns);
            other.op != hold.op && other.lock == hold.lock && is_meanwhile
        });
        // The client must have wanted the lock in the first half of the time, so that it could make several attempts.
        let middle_ns = at_ns + (blocked_until_ns - at_ns) / 2;
        // The value stayed on so many nodes that the others are fewer than a quorum.
        let used = if self.quorum == 1 {
            1
        } else {
            history.header.nodes
        };
        let is_blocked = nodes.len() + self.quorum > used;
        let is_kept_away = |worker: usize| {
            let mut faults = self.timeline.faults().iter();
            faults.any(|fault| {
                let is_lasting = !is_instantaneous(fault.fault);
                let is_on_way =
                    fault.nodes.is_empty() || fault.nodes.iter().any(|node| nodes.contains(node));
                let is_active = fault.touches(at_ns, blocked_until_ns);
                is_lasting && is_active && is_on_way && fault.affects(worker)
            })
        };
        let is_wanted = || {
            let wanting = wanting_clients(history, hold, (at_ns, middle_ns));
            wanting.into_iter().any(|worker| !is_kept_away(worker))
        };
        (is_blocked && !is_granted && is_wanted()).then(|| &rests[0].key)
    }
}

/// Returns the other clients that wanted the lock in this span: each sent a request before `until_ns` that was not
/// answered by `from_ns`.
fn wanting_clients(
    history: &History,
    hold: &Hold,
    (from_ns, until_ns): (u64, u64),
) -> BTreeSet<usize> {
    let mut requested = HashMap::new();
    for event in &history.events {
        match event.what {
            EventKind::Acquire {
                worker, op, key, ..
            } if worker != hold.worker && key == hold.lock && event.at_ns < until_ns => {
                requested.insert(op, worker);
            }
            EventKind::Granted { op, .. }
            | EventKind::Refused { op, .. }
            | EventKind::AcquireFailed { op, .. }
                if event.at_ns <= from_ns =>
            {
                requested.remove(&op);
            }
            _ => {}
        }
    }
    requested.into_values().collect()
}

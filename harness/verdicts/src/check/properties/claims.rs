//! Claims: what the lock reports agrees with what it did to the servers' keys.
//!
//! The key history shows whether these claims of a lock are true:
//!
//! - *The client has the lock for the reported time.* Its value was written to a quorum of the nodes, and the expiry
//!   there ends no sooner than reported. An expiry counts from the latest time at which it may have been set, so the
//!   bound is never too low. How long a value really stayed does not matter here: its loss is a matter of other
//!   properties. If a lock writes nothing, because its client's value from an earlier attempt is still there, that
//!   value counts. If the earlier attempt ended in doubt, and the lock's values name tokens, it must name the token.
//! - *The lease is the requested one.* The expiry is the lease, or the lease rounded up to a whole second. A lock may
//!   count the lease from the request, and write the rest (`PXAT`, or the remaining time). A key without expiry is not
//!   judged, because some locks measure the lease in another way.
//! - *The lock is free.* After a release, and after a failed section, whatever it reports, the value is gone from
//!   enough nodes that another client can get a quorum, whichever attempt of the client wrote it. If the client's own
//!   command removes the value later, the removal was in flight. A release that reports nothing is called silent, and
//!   has its own cause. If the lock has several keys, one key that stays is enough, provided that no other client gets
//!   the lock until that key has expired.
//! - *The client lost the lock.* A loss is not reported while the client's value exists on a quorum of the nodes, with
//!   time left, and nothing has disturbed the lock.
//! - *The lease goes on.* A value that had gone is not written again within the same hold.
//! - *The client held the lock until now.* After a release that reports success, the value had not gone before.
//! - *The client no longer held the lock.* A release that reports this has not removed the client's own value from a
//!   quorum of the nodes while its lease was running, unless a reply may have been late or lost.
//! - *The client did not get the lock.* After a refusal, and after an error that is definite, the client's own value
//!   does not stay on a quorum of the nodes.
//! - *The extension is impossible.* An extension is not refused while the client's own value exists on a quorum of the
//!   nodes, with time left, and nothing has disturbed the client or a server since the lock was requested.
//! - *The lease is renewed.* The key of a lock that promises renewal does not run out while its client works, unless a
//!   fault or a stall may be the reason.
//! - *The request took the reported time.* No answer took longer than the driver has waited for it.
//! - *It is a separate lock.* No other lock uses the same key.
//!
//! Without a key history these claims cannot be checked, and the property does not apply.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::check::checker::Checker;
use crate::check::claims::hold_claims::HoldJudge;
use crate::check::claims::kept_values::KeptValues;
use crate::check::claims::leftover_claims::{Leftover, LeftoverJudge};
use crate::check::claims::written_expiry::{is_too_long, margin_ms, wrong_expiry};
use crate::check::claims::written_values::{KeyUsers, Written, WrittenValue, WrittenValues};
use crate::check::description::Description;
use crate::check::finding::{Claim, FalseClaim, Judgement, Observation, key_history_gap};
use crate::check::inconclusive::InconclusiveReason;
use crate::check::stalls::harness_stall::HarnessStall;
use crate::check::stalls::thresholds::REPORT_SLACK;
use crate::history::{Declarations, Event, EventKind, Header, KeyName};
use crate::key_history::{KeyUpdate, NodesUsed};
use crate::timeline::{Attempt, EXPIRY_SLACK_NS, Step, Timeline, ms_from_ns, ns_from_ms};

/// The checker.
pub(in crate::check) struct Claims {
    key_history: bool,
    /// Why the key history of an observed run is incomplete, or `None` if it is complete.
    gap: Option<InconclusiveReason>,
    nodes: usize,
    locks: Vec<String>,
    nodes_used: NodesUsed,
    written: WrittenValues,
    users: KeyUsers,
    /// The keys that all grants of a lock have written, by lock.
    lock_keys: BTreeMap<u32, Vec<KeyName>>,
    /// The attempts that ended without a definite answer.
    in_doubt: HashSet<u64>,
    kept: KeptValues,
    /// The attempts whose release reported success after the end of the requested lease, counted from the grant.
    released_late: HashSet<u64>,
    /// When a release reported that the lock was no longer its client's, by attempt. Empty for a lock that declares a
    /// minimum hold.
    denied_ns: HashMap<u64, u64>,
    /// The attempts that their clients cancelled. The lock itself may release a grant that comes too late.
    cancelled: HashSet<u64>,
    ttl_ns: u64,
    declares: Declarations,
    harness_stalls: Vec<HarnessStall>,
    /// The first refusal, failed clean-up or missed renewal that a stall may have caused.
    doubt: Option<InconclusiveReason>,
    /// Whether a grant has written a value that names its token.
    names_tokens: bool,
    pending: Vec<PendingClaim>,
}

/// A false claim, and when it was made. It is pending until the whole history shows whether it is excused.
struct PendingClaim {
    at_ns: u64,
    unless: Option<Excuse>,
    claim: FalseClaim,
}

/// What makes a claim true although it looks false.
enum Excuse {
    /// This lock uses only one node.
    OneNode(u32),
    /// No value names the token of its grant, so a value does not show which attempt it was written for.
    UnnamedTokens,
}

impl Claims {
    fn record(&mut self, at_ns: u64, about: Claim, ops: Vec<u64>, statement: String) {
        let claim = FalseClaim {
            about,
            ops,
            statement,
        };
        self.pending.push(PendingClaim {
            at_ns,
            unless: None,
            claim,
        });
    }

    /// Gives the claim that was recorded last an excuse.
    fn excuse_last(&mut self, unless: Option<Excuse>) {
        if let Some(last) = self.pending.last_mut() {
            last.unless = unless;
        }
    }

    fn granted(&mut self, at_ns: u64, attempt: &Attempt) {
        let written = self.written.by_attempt(attempt);
        self.names_tokens |= attempt.written.names_distinctive_token();
        self.judge_elapsed(at_ns, attempt);
        // A lock that keeps its value from one attempt to the next writes nothing. The kept value must still live as
        // long as the lease that the lock reports.
        if written.is_empty()
            && let Some(kept) = self.kept_value(at_ns, attempt)
            && let is_for_grant = self.is_for_grant(attempt, &kept)
            && (is_for_grant || self.may_be_answered_late(attempt, &kept))
        {
            if self.judge_validity(at_ns, attempt, &kept) && !is_for_grant {
                self.record_late_reply(at_ns, attempt);
            }
            return;
        }
        self.record_keys(attempt.lock, &written);
        self.judge_expiry(at_ns, attempt, &written);
        self.judge_grant(at_ns, attempt, &written);
        self.judge_validity(at_ns, attempt, &written);
        self.judge_key(at_ns, attempt, &written);
    }

    /// Judges the reported duration of the request, which must not exceed the time for which the driver waited.
    fn judge_elapsed(&mut self, at_ns: u64, attempt: &Attempt) {
        let Some((elapsed_ms, waited_ms)) = attempt.void_elapsed else {
            return;
        };
        let statement = format!(
            "client {} reported that its request took {elapsed_ms} ms, {waited_ms} ms after it was sent",
            attempt.worker
        );
        self.record(at_ns, Claim::Elapsed, vec![attempt.op], statement);
    }

    /// Records the keys of a grant. The keys that all grants of a lock have written certainly belong to the lock.
    fn record_keys(&mut self, lock: u32, written: &Written) {
        let keys = || written.lock_values().map(|value| &value.key);
        match self.lock_keys.get_mut(&lock) {
            Some(known) => known.retain(|key| keys().any(|written| written == key)),
            None if written.is_empty() => {}
            None => {
                self.lock_keys.insert(lock, keys().cloned().collect());
            }
        }
    }

    /// Returns the values of an earlier attempt of this worker that still exist, or `None` if there are none.
    fn kept_value(&self, at_ns: u64, attempt: &Attempt) -> Option<Written> {
        self.written.kept(attempt, at_ns, self.kept.clocks())
    }

    /// Returns `true` if `kept`, the value of an earlier attempt of the same client, counts as written for this grant.
    /// If that attempt ended in doubt, the value must name the token of the grant, as it does if the granted attempt
    /// has set the expiry of its own value anew.
    fn is_for_grant(&self, attempt: &Attempt, kept: &Written) -> bool {
        let is_of_doubt = kept.left_by.is_some_and(|op| self.in_doubt.contains(&op));
        let token = attempt.written.kept_token().unwrap_or_default();
        let has_taken_over =
            |value: &WrittenValue| attempt.written.names_grant(value.node, &value.key);
        !is_of_doubt || kept.names(token) || kept.lock_values().any(has_taken_over)
    }

    /// Returns `true` if the reply to the command that wrote `kept` may have arrived after this request was sent.
    fn may_be_answered_late(&self, attempt: &Attempt, kept: &Written) -> bool {
        let delays = self.kept.delays();
        (kept.lock_values())
            .any(|value| delays.can_bridge(attempt.worker, value.written_ns, attempt.acquire_ns))
    }

    /// Records a grant that only the late reply to an earlier command explains.
    fn record_late_reply(&mut self, at_ns: u64, attempt: &Attempt) {
        let statement = format!(
            "client {} was granted the lock without a value for this request, after an earlier request without an \
             answer",
            attempt.worker
        );
        self.record(at_ns, Claim::EarlierReply, vec![attempt.op], statement);
        self.excuse_last(Some(Excuse::UnnamedTokens));
    }

    /// Judges the claim that a grant has the requested lease.
    fn judge_expiry(&mut self, at_ns: u64, attempt: &Attempt, written: &Written) {
        let quorum = self.nodes_used.quorum(attempt.lock);
        if let Some((node, ttl_ms)) =
            wrong_expiry(attempt, written, quorum, margin_ms(self.declares))
        {
            let statement = format!(
                "client {} requested a lease of {} ms, but its key on node {node} was set to expire after {ttl_ms} ms",
                attempt.worker,
                ms_from_ns(attempt.ttl_ns)
            );
            self.record(at_ns, Claim::Expiry, vec![attempt.op], statement);
        }
    }

    /// Judges the claim that an extension has the requested lease. Only a longer expiry is false: a shorter one is
    /// judged by the reported validity.
    fn judge_extended_expiry(&mut self, at_ns: u64, attempt: &Attempt) {
        let margin_ms = margin_ms(self.declares);
        let mut expiries = self.written.extended_ms(attempt.op).into_iter();
        if let Some((node, ttl_ms)) =
            expiries.find(|(_, ttl_ms)| is_too_long(attempt, *ttl_ms, margin_ms))
        {
            let statement = format!(
                "client {} requested an extension to {} ms, but its key on node {node} was set to expire after \
                 {ttl_ms} ms",
                attempt.worker,
                ms_from_ns(attempt.ttl_ns)
            );
            self.record(at_ns, Claim::Expiry, vec![attempt.op], statement);
        }
    }

    /// Judges the claim that the client has the lock.
    ///
    /// A lease that is over when it is reported promises nothing. Such a grant is true if its value was written at any
    /// time, even if the value is gone by now. A grant without any value is a false claim.
    fn judge_grant(&mut self, at_ns: u64, attempt: &Attempt, written: &Written) {
        let is_promised = attempt.lease_reported && attempt.deadline_ns > at_ns;
        let nodes = if is_promised {
            written.by_node().count()
        } else {
            attempt.written.granted_nodes()
        };
        let required_nodes = if is_promised { self.nodes / 2 + 1 } else { 1 };
        let has_value = nodes >= required_nodes;
        let takes_lock_otherwise = written.took_away || written.has_no_lock_value();
        // A value that names the token shows that another client may have handed the lock over.
        let token = attempt.written.kept_token().unwrap_or_default();
        let may_be_handed_over = !is_promised && self.kept.is_named(token);
        if has_value || takes_lock_otherwise || may_be_handed_over {
            return;
        }
        let statement = format!(
            "client {} was granted the lock, but its value was written to {nodes} of {} nodes",
            attempt.worker, self.nodes
        );
        self.record(at_ns, Claim::Grant, vec![attempt.op], statement);
        self.excuse_last((nodes > 0).then_some(Excuse::OneNode(attempt.lock)));
    }

    /// Judges the reported end of the lease, which must not be later than the written expiry. Returns `true` if it is
    /// not.
    fn judge_validity(&mut self, at_ns: u64, attempt: &Attempt, written: &Written) -> bool {
        let quorum = self.nodes_used.quorum(attempt.lock);
        let expiries_ns = written.expiries_ns();
        let reported_end_ns = attempt.deadline_ns;
        let slack_ns = match written.left_by {
            None => EXPIRY_SLACK_NS + REPORT_SLACK.part_of(attempt.ttl_ns),
            Some(_) => EXPIRY_SLACK_NS,
        };
        // A lease that is over when it is reported promises nothing.
        let too_late = (expiries_ns.get(quorum - 1)).filter(|written_end_ns| {
            attempt.lease_reported
                && reported_end_ns > at_ns
                && reported_end_ns > written_end_ns.saturating_add(slack_ns)
        });
        let Some(written_end_ns) = too_late else {
            return true;
        };
        let more_ms = ms_from_ns(reported_end_ns - written_end_ns);
        let reported = if attempt.begun_ns() < at_ns {
            "reported an extended lease"
        } else {
            "was granted a lease"
        };
        let statement = format!(
            "client {} {reported} that ends {more_ms} ms after the expiry that was written",
            attempt.worker
        );
        let rests_on_doubt = (written.left_by).is_some_and(|op| self.in_doubt.contains(&op));
        let about = if rests_on_doubt {
            Claim::EarlierReply
        } else {
            Claim::Validity
        };
        self.record(at_ns, about, vec![attempt.op], statement);
        false
    }

    /// Judges the claim that the lock is separate: no other lock uses its key.
    fn judge_key(&mut self, at_ns: u64, attempt: &Attempt, written: &Written) {
        let (lock, op) = (attempt.lock, attempt.op);
        let Some(shared) = self.users.granted(lock, op, written) else {
            return;
        };
        let name = |lock: u32| self.locks.get(lock as usize).map_or("?", String::as_str);
        let (other, first) = shared.first;
        let statement = format!(
            "the locks `{}` and `{}` share the key `{}`",
            name(other),
            name(lock),
            shared.key.text(&self.locks)
        );
        self.record(at_ns, Claim::Key, vec![first, op], statement);
    }

    /// Judges the claims that the lock is free, or that the client did not get the lock.
    fn judge_leftover_values(&mut self) {
        let left_values = std::mem::take(&mut self.kept).into_leftover_values();
        let judge = LeftoverJudge {
            nodes: self.nodes,
            nodes_used: &self.nodes_used,
            lock_keys: &self.lock_keys,
            ttl_ns: self.ttl_ns,
            harness_stalls: &self.harness_stalls,
        };
        let (mut found, mut delayed) = (Vec::new(), None);
        for left in left_values {
            match judge.judge(&left) {
                Some(Leftover::Untrue(about, statement)) => found.push((left, about, statement)),
                Some(Leftover::InDoubt(reason)) => {
                    delayed.get_or_insert(reason);
                }
                None => {}
            }
        }
        for (left, about, statement) in found {
            self.record(left.at_ns, about, vec![left.op], statement);
        }
        self.doubt = delayed;
    }

    /// Judges the claims about each hold.
    fn judge_holds(&mut self, timeline: &Timeline<'_>) {
        let judge = HoldJudge {
            nodes_used: &self.nodes_used,
            lock_keys: &self.lock_keys,
            released_late: &self.released_late,
            denied_ns: &self.denied_ns,
        };
        let (untrue, doubt) = judge.judge(timeline);
        self.doubt = self.doubt.take().or(doubt);
        for untrue in untrue {
            self.record(
                untrue.at_ns,
                untrue.about,
                vec![untrue.op],
                untrue.statement,
            );
        }
    }

    /// Handles a step of an attempt in a history with key history.
    fn judge_step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        self.nodes_used.step(attempt, step);
        self.kept.step(at_ns, attempt, step);
        match step {
            Step::Requested => self.written.begin(attempt.op),
            Step::Begun => self.granted(at_ns, attempt),
            Step::LeaseMoved => {
                let written = self.written.by_attempt(attempt);
                let kept = (self.kept_value(at_ns, attempt)).filter(|_| written.is_empty());
                self.judge_elapsed(at_ns, attempt);
                self.judge_extended_expiry(at_ns, attempt);
                self.judge_validity(at_ns, attempt, &kept.unwrap_or(written));
            }
            Step::Denied(denial) => {
                if !denial.is_definite() {
                    self.in_doubt.insert(attempt.op);
                }
                self.cancelled.remove(&attempt.op);
                self.written.forget(attempt.op);
            }
            Step::Answered { released, .. } => {
                let lease_end_ns = attempt.begun_ns().saturating_add(attempt.ttl_ns);
                if released == Some(true) && at_ns > lease_end_ns {
                    self.released_late.insert(attempt.op);
                }
                let is_cancelled = self.cancelled.remove(&attempt.op);
                if released == Some(false) && !is_cancelled && self.declares.min_hold_ms == 0 {
                    self.denied_ns.insert(attempt.op, at_ns);
                }
                self.written.forget(attempt.op);
            }
            Step::Gone => {
                self.cancelled.remove(&attempt.op);
                self.written.forget(attempt.op);
            }
            _ => {}
        }
    }
}

impl Checker for Claims {
    const DESCRIPTION: Description = Description {
        letter: 'C',
        severity: 1,
        held: "what the lock reported agrees with what it did",
        violated: "the lock reported something untrue",
        not_applicable: "the run has no key history",
        page: include_str!("../../../explain/claims.md"),
    };

    fn new(header: &Header) -> Self {
        Claims {
            key_history: header.key_history,
            nodes: header.nodes.max(1),
            locks: header.keys.clone(),
            nodes_used: NodesUsed::new(header.nodes),
            written: WrittenValues::default(),
            users: KeyUsers::default(),
            lock_keys: BTreeMap::new(),
            in_doubt: HashSet::new(),
            kept: KeptValues::new(ns_from_ms(header.declares.min_hold_ms)),
            released_late: HashSet::new(),
            denied_ns: HashMap::new(),
            cancelled: HashSet::new(),
            ttl_ns: ns_from_ms(header.ttl_ms),
            declares: header.declares,
            harness_stalls: Vec::new(),
            doubt: None,
            gap: None,
            names_tokens: false,
            pending: Vec::new(),
        }
    }

    fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        if self.key_history {
            self.judge_step(at_ns, attempt, step);
        }
    }

    fn accessed(&mut self, event: &Event) {
        if self.key_history {
            self.kept.event(event);
        }
    }

    fn event(&mut self, event: &Event) {
        self.kept.event(event);
        if let EventKind::Cancel { op, .. } = event.what {
            self.cancelled.insert(op);
        }
        self.gap = self.gap.take().or_else(|| key_history_gap(&event.what));
        self.harness_stalls.extend(HarnessStall::from_event(event));
    }

    fn key_changed(&mut self, at_ns: u64, update: &KeyUpdate<'_>) {
        self.nodes_used.key_changed(update);
        self.written.changed(update);
        self.kept.changed(at_ns, update);
    }

    fn finish(mut self, timeline: &Timeline<'_>) -> Judgement {
        if !self.key_history {
            return self
                .gap
                .map_or(Judgement::NotApplicable, Judgement::Unknown);
        }
        self.judge_leftover_values();
        self.judge_holds(timeline);
        let (nodes_used, names_tokens) = (&self.nodes_used, self.names_tokens);
        self.pending.retain(|claim| match claim.unless {
            // A lock that only ever used one of several nodes needs no majority.
            Some(Excuse::OneNode(lock)) => nodes_used.only_node(lock).is_none(),
            Some(Excuse::UnnamedTokens) => names_tokens,
            None => true,
        });
        if self.pending.is_empty()
            && let Some(reason) = self.doubt
        {
            return Judgement::Unknown(reason);
        }
        let pending = self.pending.into_iter();
        let observations = pending.map(|one| (one.at_ns, Observation::FalseClaim(one.claim)));
        Judgement::from_observations(observations.collect())
    }
}

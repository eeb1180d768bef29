//! Claims: what the lock says agrees with what it did to the servers' keys.
//!
//! A lock says these things, and the key history shows whether they are true:
//!
//! - "You have it, for so long." Its value was written to a quorum of the nodes, and the expiry on them
//!   is over no sooner than the client was told. An expiry is counted from the last moment at which it
//!   can have been set, so the bound is never too low. How long a value really stayed does not matter
//!   here: if it was lost, that is another property. A lock that writes nothing, because a value of its
//!   client is still there from an earlier attempt, has what that one is worth.
//! - "As long as you asked for." The expiry is the lease, or that rounded up to a whole second. A lock
//!   may count the lease from the request, and write the rest (`PXAT`, or what is left of it). A key
//!   without expiry is not judged: some locks measure the lease in another way.
//! - "It is free." After a release, whatever it says of its success, the value is gone from so many nodes that
//!   another client can get a quorum. A value that the client's own command removes later was on its
//!   way to be removed.
//! - "You had it until now." After a release that claims success, the value had not gone before.
//! - "You have not got it." After a refusal, and after an error before which certainly nothing had happened, the
//!   client's own value does not go on standing on a quorum of the nodes.
//! - "You have it no longer." An extension is not refused while the client's own value stands on a quorum of the
//!   nodes, with time left, and no fault is on.
//! - "I shall renew it." The key of a lock that promises renewal does not run out while its client works, unless a
//!   fault may be why.
//! - "It took so long." No answer took longer than the driver has waited for it.
//! - "It is this lock." No other lock uses the same key.
//!
//! Without key history nothing of this can be shown, and the property does not apply.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::check::checker::Checker;
use crate::check::claims::kept_values::{KeptValues, SLACK_NS};
use crate::check::claims::left_value::{LeftValue, ReportedState};
use crate::check::claims::promised_renewal::ran_out_ns;
use crate::check::claims::untrue_answers::{gone_ns, refused_ns};
use crate::check::claims::written_values::{KeyUsers, Written, WrittenValue, WrittenValues};
use crate::check::description::Description;
use crate::check::finding::{Claim, FalseClaim, Judgement, Seen};
use crate::check::inconclusive::{InconclusiveReason, StallContext};
use crate::history::{Event, EventKind, Header, KeyName};
use crate::key_history::{Expiry, KeyHistory, KeyUpdate, NodesUsed, ValueSpan};
use crate::timeline::{Attempt, Step, Timeline, ms};

/// How far an expiry as it was written may be off.
const SLACK_MS: i64 = 1;

/// A worker measures how long it took and what is left of the lease one after the other, and can lose the processor in
/// between. So a lease proves nothing that is longer than the key that it wrote by no more than this part of the lease
/// asked for.
const TELLING_PART_OF_LEASE: u64 = 100;

/// A client that waits for a node for a tenth of its lease gives up an answer that comes somewhat later. So a value that
/// stands after a refusal proves nothing where the harness stood still for this part of the lease in all...
const LATE_PART_OF_LEASE: u64 = 50;

/// ... within this part of the lease before and after the value was written.
const AROUND_PART_OF_LEASE: u64 = 5;

/// The checker.
pub(in crate::check) struct Claims {
    key_history: bool,
    nodes: usize,
    locks: Vec<String>,
    nodes_used: NodesUsed,
    written: WrittenValues,
    users: KeyUsers,
    /// By lock: the keys that all its grants have written.
    lock_keys: BTreeMap<u32, Vec<KeyName>>,
    /// The attempts that ended without a certain answer.
    in_doubt: HashSet<u64>,
    kept: KeptValues,
    /// The attempts whose release claimed success when the lease that was asked for was over, counted from the grant.
    released_late: HashSet<u64>,
    ttl_ns: u64,
    /// When the harness stood still: from, until.
    pauses: Vec<(u64, u64)>,
    /// The first refusal that may be due to that.
    late: Option<InconclusiveReason>,
    found: Vec<Found>,
}

/// An untrue claim, and when it was made.
struct Found {
    at_ns: u64,
    /// It is none if this lock uses one node only.
    unless_alone: Option<u32>,
    claim: FalseClaim,
}

impl Claims {
    fn found(&mut self, at_ns: u64, about: Claim, ops: Vec<u64>, statement: String) {
        let claim = FalseClaim {
            about,
            ops,
            statement,
        };
        self.found.push(Found {
            at_ns,
            unless_alone: None,
            claim,
        });
    }

    fn granted(&mut self, at_ns: u64, attempt: &Attempt) {
        let written = self.written.of(attempt.op);
        self.judge_elapsed(at_ns, attempt);
        // A lock that keeps its value from one attempt to the next has nothing to write. But the value
        // lives no longer for it.
        if written.is_empty()
            && let Some(kept) = self.kept_value(at_ns, attempt)
        {
            return self.judge_validity(at_ns, attempt, &kept);
        }
        self.record_keys(attempt.key, &written);
        self.judge_expiry(at_ns, attempt, &written);
        self.judge_grant(at_ns, attempt, &written);
        self.judge_validity(at_ns, attempt, &written);
        self.judge_key(at_ns, attempt, &written);
    }

    /// "It took so long."
    fn judge_elapsed(&mut self, at_ns: u64, attempt: &Attempt) {
        let Some((elapsed_ms, waited_ms)) = attempt.void_elapsed else {
            return;
        };
        let statement = format!(
            "worker {} said that it took {elapsed_ms} ms, {waited_ms} ms after it was asked",
            attempt.worker
        );
        self.found(at_ns, Claim::Elapsed, vec![attempt.op], statement);
    }

    /// The keys that all grants of a lock have written are certainly the lock's.
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

    /// What is there of an earlier attempt of this worker. `None`: nothing.
    fn kept_value(&self, at_ns: u64, attempt: &Attempt) -> Option<Written> {
        let (worker, lock) = (attempt.worker, attempt.key);
        self.written.kept(worker, lock, at_ns, self.kept.clocks())
    }

    /// "As long as you asked for."
    fn judge_expiry(&mut self, at_ns: u64, attempt: &Attempt, written: &Written) {
        let asked_ms = i64::try_from(attempt.ttl_ns / 1_000_000).unwrap_or(i64::MAX);
        let most_ms = most_ms(asked_ms);
        // A key that is on fewer nodes than the lock needs stands beside it.
        let quorum = self.nodes_used.quorum(attempt.key);
        let is_lock = |value: &&WrittenValue| written.nodes_of(&value.key) >= quorum;
        let any_is = written.lock_values().any(|value| is_lock(&value));
        for here in written.by_node() {
            let first = here.iter().filter(|value| value.at_first);
            let first = first.filter(|value| !any_is || is_lock(value));
            let given_ms = || first.clone().filter_map(|value| Some(value.expiry?.ttl_ms));
            let fits = |expiry: Expiry| {
                let past_ns = expiry.set_ns.saturating_sub(attempt.acquire_ns);
                let past_ms = i64::try_from(past_ns.div_ceil(1_000_000)).unwrap_or(i64::MAX / 2);
                (asked_ms - SLACK_MS - past_ms..=most_ms).contains(&expiry.ttl_ms)
            };
            let is_right = |value: &WrittenValue| value.expiry.is_some_and(fits);
            // A lock may write other keys beside its own: one that is right is its own.
            let Some(ttl_ms) = given_ms().min() else {
                continue;
            };
            if !first.clone().any(is_right) {
                let node = here[0].node;
                let statement = format!(
                    "worker {} asked for a lease of {asked_ms} ms, and its key on node {node} was given {ttl_ms} ms",
                    attempt.worker
                );
                return self.found(at_ns, Claim::Expiry, vec![attempt.op], statement);
            }
        }
    }

    /// The same of an extension. A shorter expiry than was told is no more worth than it is.
    fn judge_extended_expiry(&mut self, at_ns: u64, attempt: &Attempt) {
        let asked_ms = i64::try_from(attempt.ttl_ns / 1_000_000).unwrap_or(i64::MAX);
        let most_ms = most_ms(asked_ms);
        let mut given = self.written.extended_ms(attempt.op).into_iter();
        if let Some((node, ttl_ms)) = given.find(|(_, ttl_ms)| *ttl_ms > most_ms) {
            let statement = format!(
                "worker {} asked to extend its lease to {asked_ms} ms, and its key on node {node} was given {ttl_ms} ms",
                attempt.worker
            );
            self.found(at_ns, Claim::Expiry, vec![attempt.op], statement);
        }
    }

    /// "You have it."
    fn judge_grant(&mut self, at_ns: u64, attempt: &Attempt, written: &Written) {
        let nodes = written.by_node().count();
        let beside = written.took_away || written.is_beside_the_lock();
        // A lease that is over when it is told promises nothing.
        let promised = attempt.lease_reported && attempt.deadline_ns > at_ns;
        if !promised || beside || nodes > self.nodes / 2 {
            return;
        }
        let statement = format!(
            "worker {} was told that it has the lock, and its value was written to {nodes} of {} nodes",
            attempt.worker, self.nodes
        );
        self.found(at_ns, Claim::Grant, vec![attempt.op], statement);
        if let Some(found) = self.found.last_mut() {
            found.unless_alone = (nodes > 0).then_some(attempt.key);
        }
    }

    /// "For so long."
    fn judge_validity(&mut self, at_ns: u64, attempt: &Attempt, written: &Written) {
        let quorum = self.nodes_used.quorum(attempt.key);
        let ended_at_ns = written.ended_at_ns();
        let reported_at_ns = attempt.deadline_ns;
        let telling_ns = attempt.ttl_ns / TELLING_PART_OF_LEASE;
        let slack_ns = match written.left_by {
            None => SLACK_NS + telling_ns,
            Some(_) => SLACK_NS,
        };
        // A lease that is over when it is told promises nothing.
        if let Some(worth_ns) = ended_at_ns.get(quorum - 1)
            && attempt.lease_reported
            && reported_at_ns > at_ns
            && reported_at_ns > worth_ns.saturating_add(slack_ns)
        {
            let more_ms = (reported_at_ns - worth_ns) / 1_000_000;
            let statement = format!(
                "worker {} was told a lease that ends {more_ms} ms after the expiry that was written",
                attempt.worker
            );
            let about = match written.left_by.filter(|op| self.in_doubt.contains(op)) {
                Some(_) => Claim::EarlierReply,
                None => Claim::Validity,
            };
            self.found(at_ns, about, vec![attempt.op], statement);
        }
    }

    /// "It is this lock."
    fn judge_key(&mut self, at_ns: u64, attempt: &Attempt, written: &Written) {
        let (lock, op) = (attempt.key, attempt.op);
        let Some(shared) = self.users.granted(lock, op, written) else {
            return;
        };
        let name = |lock: u32| self.locks.get(lock as usize).map_or("?", String::as_str);
        let (other, first) = shared.first;
        let statement = format!(
            "the locks `{}` and `{}` use one key, `{}`",
            name(other),
            name(lock),
            shared.key.text(&self.locks)
        );
        self.found(at_ns, Claim::Key, vec![first, op], statement);
    }

    /// "It is free", or "You have not got it."
    fn judge_left(&mut self) {
        for left in std::mem::take(&mut self.kept).into_left() {
            let stayed = self.stayed_on(&left);
            let alone = self.nodes_used.only_node(left.lock).is_some();
            let quorum = self.nodes / 2 + 1;
            let too_many = match (alone, left.said.is_of_release()) {
                (true, _) => 1,
                // So many that the rest is no quorum.
                (false, true) => self.nodes - quorum + 1,
                (false, false) => quorum,
            };
            if stayed >= too_many
                && left.said == ReportedState::Refused
                && let Some(late) = self.held_back(&left)
            {
                self.late.get_or_insert(late);
            } else if stayed >= too_many {
                let statement = format!(
                    "worker {} {}, and its value stayed on {stayed} of {} nodes",
                    left.worker,
                    left.said.describe(),
                    self.nodes
                );
                let about = match left.said.is_of_release() {
                    true => Claim::Release,
                    false => Claim::Refusal,
                };
                self.found(left.at_ns, about, vec![left.op], statement);
            }
        }
    }

    /// Why a client may have given up an answer that the harness held back: it stood still about the time at which the
    /// value was written.
    fn held_back(&self, left: &LeftValue) -> Option<InconclusiveReason> {
        let written_ns = left.written_ns?;
        let around_ns = self.ttl_ns / AROUND_PART_OF_LEASE;
        let from_ns = written_ns.saturating_sub(around_ns);
        let until_ns = written_ns.saturating_add(around_ns).min(left.at_ns);
        let pauses = self.pauses.iter();
        let near =
            pauses.filter(|(began_ns, ended_ns)| *began_ns < until_ns && *ended_ns > from_ns);
        let (mut paused_ns, mut last_ns) = (0, 0);
        for (began_ns, ended_ns) in near {
            paused_ns = ended_ns.saturating_sub(*began_ns).saturating_add(paused_ns);
            last_ns = *ended_ns;
        }
        let suffices = paused_ns >= (self.ttl_ns / LATE_PART_OF_LEASE).max(1);
        suffices.then_some(InconclusiveReason::HarnessStall {
            late_ms: paused_ns / 1_000_000,
            until_ns: last_ns,
            during: StallContext::Attempt,
            count: 1,
        })
    }

    /// "I shall renew it", "you have it no longer", and "you had it until now".
    fn judge_holds(&mut self, timeline: &Timeline<'_>) {
        let history = timeline.history();
        let refused = |event: &Event| match event.what {
            EventKind::ExtendRefused { op, .. } => Some(op),
            _ => None,
        };
        let refused: HashSet<u64> = history.events.iter().filter_map(refused).collect();
        let renews = history.header.renews;
        if !renews && refused.is_empty() && self.released_late.is_empty() {
            return;
        }
        let account = KeyHistory::from_history(history);
        let mut values: HashMap<(usize, u64), Vec<&ValueSpan>> = HashMap::new();
        for span in &account.spans {
            if let Some(by) = &span.author {
                values.entry((by.worker, by.op)).or_default().push(span);
            }
        }
        for hold in timeline.holds() {
            let own = values.get(&(hold.worker, hold.op));
            let own = own.map_or(&[][..], Vec::as_slice);
            if renews && let Some(at_ns) = ran_out_ns(timeline, own, hold) {
                let statement = format!(
                    "worker {}'s key ran out while it held the lock, which promises to renew it",
                    hold.worker
                );
                self.found(at_ns, Claim::Renewal, vec![hold.op], statement);
            }
            let quorum = self.nodes_used.quorum(hold.key);
            if refused.contains(&hold.op)
                && let Some(at_ns) = refused_ns(timeline, own, hold, quorum)
            {
                let statement = format!(
                    "worker {} was told that the lock was no longer its own, and its value stood with time left",
                    hold.worker
                );
                self.found(at_ns, Claim::Extension, vec![hold.op], statement);
            }
            if self.released_late.contains(&hold.op)
                && let Some((at_ns, before_ns)) = gone_ns(timeline, own, hold, quorum)
            {
                let statement = format!(
                    "worker {} was told that it had the lock until now, and its value had gone {} ms before its release",
                    hold.worker,
                    before_ns / 1_000_000
                );
                self.found(at_ns, Claim::Release, vec![hold.op], statement);
            }
        }
    }

    /// On how many nodes it stayed. Only who says that it is free speaks of whatever it has written.
    fn stayed_on(&self, left: &LeftValue) -> usize {
        let keys = self.lock_keys.get(&left.lock);
        let keys = keys.map_or(&[][..], Vec::as_slice);
        left.nodes((left.said != ReportedState::Free).then_some(keys))
    }
}

/// The longest expiry that a lease of so many milliseconds may be given: rounded up to whole seconds.
fn most_ms(asked_ms: i64) -> i64 {
    let whole_ms = asked_ms.saturating_add(999) / 1000 * 1000;
    whole_ms.saturating_add(SLACK_MS)
}

impl Checker for Claims {
    const DESCRIPTION: Description = Description {
        letter: 'C',
        severity: 1,
        held: "what the lock said agrees with what it did",
        violated: "the lock said something untrue",
        not_applicable: "the history has no account of the servers' keys",
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
            kept: KeptValues::default(),
            released_late: HashSet::new(),
            ttl_ns: ms(header.ttl_ms),
            pauses: Vec::new(),
            late: None,
            found: Vec::new(),
        }
    }

    fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        if !self.key_history {
            return;
        }
        self.nodes_used.step(attempt, step);
        self.kept.step(at_ns, attempt, step);
        match step {
            Step::Requested => self.written.asked(attempt.op),
            Step::Begun => self.granted(at_ns, attempt),
            Step::LeaseMoved { .. } => {
                let written = self.written.of(attempt.op);
                let kept = self.kept_value(at_ns, attempt);
                let kept = kept.filter(|_| written.is_empty());
                self.judge_elapsed(at_ns, attempt);
                self.judge_extended_expiry(at_ns, attempt);
                self.judge_validity(at_ns, attempt, &kept.unwrap_or(written));
            }
            Step::Denied(denial) => {
                if !denial.is_definite() {
                    self.in_doubt.insert(attempt.op);
                }
                self.written.forget(attempt.op);
            }
            Step::Answered { released, .. } => {
                let ended_at_ns = attempt.begun_ns().saturating_add(attempt.ttl_ns);
                if released == Some(true) && at_ns > ended_at_ns {
                    self.released_late.insert(attempt.op);
                }
                self.written.forget(attempt.op);
            }
            Step::Gone => self.written.forget(attempt.op),
            _ => {}
        }
    }

    fn event(&mut self, event: &Event) {
        self.kept.event(event);
        if let EventKind::HarnessStalled { late_ms } = event.what {
            let from_ns = event.at_ns.saturating_sub(ms(late_ms));
            self.pauses.push((from_ns, event.at_ns));
        }
    }

    fn key_changed(&mut self, at_ns: u64, update: &KeyUpdate<'_>) {
        self.nodes_used.key_changed(update);
        self.written.changed(update);
        self.kept.changed(at_ns, update);
    }

    fn finish(mut self, timeline: &Timeline<'_>) -> Judgement {
        if !self.key_history {
            return Judgement::NotApplicable;
        }
        self.judge_left();
        self.judge_holds(timeline);
        // A lock that only ever used one of several nodes asks for no majority.
        let nodes_used = &self.nodes_used;
        let is_alone = |lock: u32| nodes_used.only_node(lock).is_some();
        self.found
            .retain(|found| !found.unless_alone.is_some_and(is_alone));
        if let (true, Some(late)) = (self.found.is_empty(), self.late) {
            return Judgement::Unknown(late);
        }
        let found = self.found.into_iter();
        let found = found.map(|found| (found.at_ns, Seen::FalseClaim(found.claim)));
        Judgement::of(found.collect())
    }
}

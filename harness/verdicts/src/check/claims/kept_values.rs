//! Values that still exist when their lock reports that it is free, or that its client never had it.
//!
//! A client may remove its value after the report; the removal was then in flight. So reports are judged when the
//! history is over.
//!
//! Some locks release by writing another value, such as "free" or a counter decremented by one. If the same client had
//! written that value in an attempt in doubt, the lock is still taken: the hold of the attempt whose reply was lost
//! remains.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use picklock_scenarios::Phase;

use crate::history::{Event, EventKind, KeyCommand, KeyName};
use crate::key_history::{Expiry, KeyUpdate, NodeClocks, may_be_lock_value, shares_element};
use crate::timeline::{Attempt, EXPIRY_SLACK_NS, Step, UnderWay, names_token, work_count};

use crate::check::claims::false_answers::FalseAnswers;
use crate::check::claims::leftover_value::{LeftoverValue, ReportedState, ending_anyway_until_ns};
use crate::check::stalls::reply_delays::{DelayedBy, ReplyDelays, StallSpan};

/// The values of active attempts, and the values that attempts left behind.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct KeptValues {
    /// The declared time for which a value may stay after a release, in nanoseconds.
    min_hold_ns: u64,
    clocks: NodeClocks,
    false_answers: FalseAnswers,
    delays: ReplyDelays,
    /// The attempts whose section failed and whose release has not been answered yet.
    failed_sections: Vec<u64>,
    /// The current value of each key, by its number.
    current: Vec<Option<ObservedValue>>,
    /// The values of each active attempt.
    attempts: UnderWay<Vec<Value>>,
    acquired: AcquiredValues,
    /// The values that were left, in the order of the reports that they contradict.
    left: Vec<LeftoverValue>,
    /// The positions in `left` of the values that each attempt wrote.
    left_by: HashMap<u64, Vec<usize>>,
}

/// The values with which locks were taken, by the number of their key. An attempt is settled once it has a definite
/// answer. Its values are then no longer needed.
#[derive(Debug, Clone, Default)]
struct AcquiredValues {
    places: Vec<AcquiredAtPlace>,
    /// The attempts that are active or ended in doubt.
    unsettled: BTreeSet<u64>,
}

/// The worker that last took the lock at one place, and the values with which its unsettled attempts took it.
#[derive(Debug, Clone, Default)]
struct AcquiredAtPlace {
    worker: usize,
    /// Each attempt with the value that it wrote.
    values: Vec<(u64, Arc<str>)>,
    /// Length at which the values of settled attempts are next removed from the list.
    full: usize,
}

/// Maximum number of values of unsettled attempts that are kept at one place. A value that is dropped from the list
/// counts as removed, so no client is blamed for it.
const MAX_UNSETTLED: usize = 1000;

impl AcquiredAtPlace {
    /// Adds a value. First removes the values of settled attempts if the list has doubled since the last such removal.
    /// Otherwise the list would grow with every attempt on a key that is never removed.
    fn push(&mut self, op: u64, value: &Arc<str>, unsettled: &BTreeSet<u64>) {
        if self.values.len() >= self.full {
            work_count::add(self.values.len());
            self.values.retain(|(op, _)| unsettled.contains(op));
            let excess = self.values.len().saturating_sub(MAX_UNSETTLED);
            self.values.drain(..excess);
            let kept = self.values.len();
            self.full = if kept < 16 { 0 } else { 2 * kept };
        }
        self.values.push((op, value.clone()));
    }
}

impl AcquiredValues {
    fn changed(&mut self, update: &KeyUpdate<'_>) {
        if self.places.len() <= update.key_number {
            self.places
                .resize_with(update.key_number + 1, Default::default);
        }
        let here = &mut self.places[update.key_number];
        let Some(now) = update.now else {
            return here.values.clear();
        };
        let Some(command) = (update.command()).filter(|by| by.phase == Phase::Acquire) else {
            return;
        };
        if here.worker != command.worker {
            here.values.clear();
        }
        here.worker = command.worker;
        here.push(command.op, now.value, &self.unsettled);
    }

    /// Returns `true` if a command leaves a value with which its worker had taken the lock in another unsettled
    /// attempt, or earlier in the same attempt.
    fn is_left(&self, command: &KeyCommand, update: &KeyUpdate<'_>) -> bool {
        let (Some(here), Some(now)) = (self.places.get(update.key_number), update.now) else {
            return false;
        };
        let is_other = |op: &u64| *op != command.op && self.unsettled.contains(op);
        // In a reentrant hold, the same attempt counts the value up twice, and a release of the inner hold only counts
        // it down.
        let before = update.before.as_ref();
        let is_counted = before.is_some_and(|before| shares_element(before.value, now.value));
        let mut same = here.values.iter().filter(|(_, value)| value == now.value);
        here.worker == command.worker
            && same.any(|(op, _)| is_other(op) || is_counted && *op == command.op)
    }
}

/// The current value of a key.
#[derive(Debug, Clone)]
struct ObservedValue {
    node: usize,
    key: KeyName,
    /// The worker that wrote the value, and its attempt.
    worker: usize,
    op: u64,
    /// Whether only that worker has written the key since it was free.
    is_of_one_worker: bool,
    text: Arc<str>,
    written_ns: u64,
    expiry: Option<Expiry>,
}

/// A value that an attempt wrote to a key, other than by its release.
#[derive(Debug, Clone)]
struct Value {
    node: usize,
    key: KeyName,
    text: Arc<str>,
    expiry: Option<Expiry>,
    /// Whether the attempt itself has removed the value.
    removed: bool,
    /// Whether the value is a collection in a key without the lock's name, such as a list of waiting clients.
    is_collection: bool,
    /// Whether the key did not exist when the value was written. Overwriting an existing value need not take the lock.
    on_free_key: bool,
}

impl KeptValues {
    /// Creates an empty record. A value may stay for `min_hold_ns` after a release.
    pub(in crate::check) fn new(min_hold_ns: u64) -> Self {
        KeptValues {
            min_hold_ns,
            ..KeptValues::default()
        }
    }

    pub(in crate::check) fn event(&mut self, event: &Event) {
        self.clocks.event(event);
        self.false_answers.event(event);
        self.delays.event(event);
        if let EventKind::SectionFailed { op, .. } = event.what {
            self.failed_sections.push(op);
        }
    }

    /// Returns the changes of the nodes' wall clocks so far.
    pub(in crate::check) fn clocks(&self) -> &NodeClocks {
        &self.clocks
    }

    /// Returns the faults and stalls so far that may have delayed replies.
    pub(in crate::check) fn delays(&self) -> &ReplyDelays {
        &self.delays
    }

    /// Returns `true` if the value of some key names this token, whichever client wrote it.
    pub(in crate::check) fn is_named(&self, token: &str) -> bool {
        let mut current = self.current.iter().flatten();
        current.any(|value| names_token(&value.text, token))
    }

    fn record_current(&mut self, update: &KeyUpdate<'_>) {
        if self.current.len() <= update.key_number {
            self.current.resize(update.key_number + 1, None);
        }
        let before = self.current[update.key_number].take();
        self.current[update.key_number] = update.now.and_then(|now| {
            let KeyCommand { worker, op, .. } = *now.author?;
            let is_same =
                before.is_some_and(|writer| writer.is_of_one_worker && writer.worker == worker);
            Some(ObservedValue {
                node: update.node,
                key: update.key.clone(),
                worker,
                op,
                is_of_one_worker: update.before.is_none() || is_same,
                text: Arc::clone(now.value),
                written_ns: now.written_ns,
                expiry: now.expiry,
            })
        });
    }

    pub(in crate::check) fn changed(&mut self, at_ns: u64, update: &KeyUpdate<'_>) {
        self.record_current(update);
        self.acquired.changed(update);
        let removed_own = self.removed_own(update);
        if update.ends_value() || removed_own.is_some() {
            let author = update.before.as_ref().and_then(|before| before.author);
            let left_by = author.and_then(|author| self.left_by.get(&author.op));
            for index in left_by.into_iter().flatten() {
                work_count::add(1);
                self.left[*index].ended(at_ns, update, removed_own);
            }
        }
        if update.ends_value() {
            self.ended(update, removed_own.is_some());
        }
        let Some(now) = update.now else { return };
        // A value that a release wrote does not take the lock: it is the rest of a collection, or marks the lock as
        // free. But a renewal that arrives during the release may write the removed value again.
        let author =
            (now.author).filter(|by| by.phase != Phase::Release || self.is_restored(by.op, update));
        let Some(values) = author.and_then(|author| self.attempts.get_mut(author.op)) else {
            return;
        };
        let value = Value {
            node: update.node,
            key: update.key.clone(),
            text: Arc::clone(now.value),
            expiry: now.expiry,
            removed: removed_own.is_some(),
            on_free_key: now.on_free_key,
            is_collection: now.value.starts_with('{') && !matches!(update.key, KeyName::Lock(_)),
        };
        match values.iter_mut().find(|value| value.is_at(update)) {
            // A new expiry alone restores nothing.
            Some(known) => {
                let is_removed = value.removed
                    || known.removed && known.text == value.text && update.before.is_some();
                *known = Value {
                    removed: is_removed,
                    ..value
                };
            }
            None => values.push(value),
        }
    }

    /// Returns `true` if the attempt writes its removed value to the free key again, or had done so before this change.
    fn is_restored(&self, op: u64, update: &KeyUpdate<'_>) -> bool {
        let before = update.before.as_ref();
        let mut own = self.attempts.get(op).into_iter().flatten();
        own.any(|value| {
            let stored = if value.removed { update.now } else { before };
            let is_possible = !value.removed || before.is_none();
            value.is_at(update)
                && is_possible
                && stored.is_some_and(|stored| *stored.value == value.text)
        })
    }

    /// Handles the end of a value. If its own attempt removed it, it is marked as removed.
    fn ended(&mut self, update: &KeyUpdate<'_>, removed_own: bool) {
        // The value that ends may be a mark that a release wrote. Its end does not show that the attempt removed its
        // own value.
        let author = update.before.as_ref().and_then(|before| before.author);
        let author =
            author.filter(|by| by.phase != Phase::Release || self.is_restored(by.op, update));
        let Some(values) = author.and_then(|author| self.attempts.get_mut(author.op)) else {
            return;
        };
        if !removed_own {
            return values.retain(|value| !value.is_at(update));
        }
        for value in values.iter_mut().filter(|value| value.is_at(update)) {
            value.removed = true;
        }
    }

    /// Returns the attempt if it removed or overwrote its own value in order to release it.
    fn removed_own(&self, update: &KeyUpdate<'_>) -> Option<u64> {
        let command = update.command()?;
        let before = update.before.as_ref()?;
        let is_own = before.author?.shares_attempt(command);
        let releases = matches!(command.phase, Phase::Release | Phase::Idle);
        let is_gone = update.now.is_none_or(|now| now.value != before.value)
            && !self.acquired.is_left(command, update);
        (is_own && releases && is_gone).then_some(command.op)
    }

    pub(in crate::check) fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        if step == Step::Requested {
            self.attempts.begin(attempt.op, Vec::new());
            self.acquired.unsettled.insert(attempt.op);
        }
        let delayed_by = self.delay_of_clean_up(at_ns, attempt, step);
        if let Some(reported) = self.reported(attempt, step)
            && delayed_by != Some(DelayedBy::Fault)
            && !self.false_answers.may_mislead(attempt)
        {
            let stall = delayed_by.and_then(DelayedBy::stall);
            self.judge(at_ns, attempt, reported, stall);
        }
        let is_definite = match step {
            Step::Denied(denial) => denial.is_definite(),
            Step::Answered { failed, .. } => !failed,
            _ => false,
        };
        if is_definite {
            self.acquired.unsettled.remove(&attempt.op);
        }
        if matches!(step, Step::Answered { .. } | Step::Denied(_) | Step::Gone) {
            self.attempts.end(attempt.op);
        }
    }

    /// Returns what may be the reason if the clean-up of a failed section ended in an error.
    fn delay_of_clean_up(&self, at_ns: u64, attempt: &Attempt, step: Step) -> Option<DelayedBy> {
        let is_failed = matches!(step, Step::Answered { failed: true, .. });
        let released_ns = attempt.ended.map_or(at_ns, |(released_ns, _)| released_ns);
        let delayed = || self.delays.during(attempt.worker, released_ns, at_ns);
        is_failed.then(delayed).flatten()
    }

    /// Returns the report that a step makes about the values of its attempt, or `None` if it makes none.
    fn reported(&mut self, attempt: &Attempt, step: Step) -> Option<ReportedState> {
        let failed = self.failed_sections.iter().position(|op| *op == attempt.op);
        let reported = ReportedState::from_step(step, failed.is_some());
        if let Some(index) = failed.filter(|_| matches!(step, Step::Answered { .. } | Step::Gone)) {
            self.failed_sections.swap_remove(index);
        }
        reported
    }

    /// Records the values that a report contradicts. `stall` may be the reason for the report.
    fn judge(
        &mut self,
        at_ns: u64,
        attempt: &Attempt,
        reported: ReportedState,
        stall: Option<StallSpan>,
    ) {
        let mut kept = match reported {
            ReportedState::Free => self.living_values(at_ns, attempt.op),
            _ => self.lasting_values(at_ns, attempt),
        };
        let of_other_attempts = reported == ReportedState::Free && kept.is_empty();
        let mut authors = BTreeSet::from([attempt.op]);
        if of_other_attempts {
            let of_client = self.values_of_client(at_ns, attempt);
            authors = of_client.iter().map(|value| value.op).collect();
            let places = of_client.iter();
            kept = places
                .map(|place| (place.node, place.key.clone()))
                .collect();
        }
        if !kept.is_empty() {
            for op in authors {
                self.left_by.entry(op).or_default().push(self.left.len());
            }
            let written_ns = self.written_ns(attempt.op);
            let mut left = LeftoverValue::new(at_ns, attempt, reported, kept, written_ns);
            left.of_other_attempts = of_other_attempts;
            left.stall = stall;
            if reported.is_of_release() && self.min_hold_ns > 0 {
                let held_on_until_ns = at_ns.saturating_add(self.min_hold_ns);
                left.held_on_until_ns = held_on_until_ns.saturating_add(EXPIRY_SLACK_NS);
            }
            self.left.push(left);
        }
    }

    /// Returns the values that another attempt of the same client wrote, but that belong to this attempt: they name its
    /// token, or it took the lock with them. Nodes on which the attempt removed one of its values do not count, because
    /// the removed value was the lock.
    fn values_of_client(&self, at_ns: u64, attempt: &Attempt) -> Vec<&ObservedValue> {
        let released_ns = attempt.ended.map_or(at_ns, |(released_ns, _)| released_ns);
        let own = self.attempts.get(attempt.op).map_or(&[][..], Vec::as_slice);
        let is_released = |node: usize| own.iter().any(|value| value.node == node && value.removed);
        let is_left = |value: &&ObservedValue| {
            let place = (value.node, &value.key);
            let is_older = value.written_ns < released_ns;
            // A value that several workers have written counts the clients that share a token.
            value.worker == attempt.worker
                && !is_released(value.node)
                && value.is_of_one_worker
                && may_be_lock_value(&value.key, value.expiry.is_some())
                && attempt.written.is_left_in(place, &value.text, is_older)
                && lives(&self.clocks, value.node, value.expiry, at_ns)
        };
        self.current.iter().flatten().filter(is_left).collect()
    }

    /// Returns the places of the attempt's values that exist.
    fn living_values(&self, at_ns: u64, op: u64) -> Vec<(usize, KeyName)> {
        self.places(op, |value| {
            let is_lock = may_be_lock_value(&value.key, value.expiry.is_some());
            is_lock && value.lives(&self.clocks, at_ns)
        })
    }

    /// Returns the places of the attempt's values that exist and are not about to end. A lock may store the end of its
    /// lease in the value; a value without expiry counts until the end of the lease.
    fn lasting_values(&self, at_ns: u64, attempt: &Attempt) -> Vec<(usize, KeyName)> {
        let until_ns = ending_anyway_until_ns(at_ns, attempt);
        let lease_ns = match attempt.begin_ns {
            Some(_) => attempt.deadline_ns,
            None => attempt.acquire_ns.saturating_add(attempt.ttl_ns),
        };
        self.places(attempt.op, |value| {
            let lives = value.lives(&self.clocks, until_ns);
            let runs = value.expiry.is_some() || lease_ns > until_ns;
            let is_lock = attempt.begin_ns.is_some() || value.on_free_key;
            lives && runs && is_lock && !value.is_collection
        })
    }

    /// Returns the places of the attempt's values that satisfy a condition, except on nodes where the attempt removed
    /// one of its values. A lock may have other keys besides its lock key, and the removed value was in the lock key.
    fn places(&self, op: u64, is_there: impl Fn(&Value) -> bool) -> Vec<(usize, KeyName)> {
        let values = self.attempts.get(op).map_or(&[][..], Vec::as_slice);
        let remaining = values.iter().filter(|value| {
            let is_released = |other: &Value| other.node == value.node && other.removed;
            is_there(value) && !values.iter().any(is_released)
        });
        (remaining.map(|value| (value.node, value.key.clone()))).collect()
    }

    /// Returns when the attempt last set an expiry, or `None` if none of its values expires.
    fn written_ns(&self, op: u64) -> Option<u64> {
        let values = self.attempts.get(op)?.iter();
        values.filter_map(|value| Some(value.expiry?.set_ns)).max()
    }

    /// Returns the values that stayed, in the order of the reports that they contradict.
    pub(in crate::check) fn into_leftover_values(mut self) -> Vec<LeftoverValue> {
        self.left.retain(|left| !left.kept.is_empty());
        self.left
    }
}

impl Value {
    fn is_at(&self, update: &KeyUpdate<'_>) -> bool {
        (self.node, &self.key) == (update.node, update.key)
    }

    /// Returns `true` if the value certainly has not expired at `at_ns`.
    fn lives(&self, clocks: &NodeClocks, at_ns: u64) -> bool {
        lives(clocks, self.node, self.expiry, at_ns)
    }
}

/// Returns `true` if a value with this expiry certainly has not expired at `at_ns`.
fn lives(clocks: &NodeClocks, node: usize, expiry: Option<Expiry>, at_ns: u64) -> bool {
    let expires_at_ns = |expiry| clocks.expires_at_ns(node, expiry);
    expiry.is_none_or(|expiry| expires_at_ns(expiry) > at_ns.saturating_add(EXPIRY_SLACK_NS))
}

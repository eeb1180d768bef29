//! Values that are still there when their lock says that it is free, or that it never was its client's.
//!
//! A client may remove its value later than it says so: then it was on its way to be removed. So what was said
//! is judged when the history is over.
//!
//! Some locks write another value to release: "free", or a number that is one less. If that is a value
//! that the same client had written in an attempt in doubt, the lock is still taken: the hold of an attempt
//! whose reply was lost is left.

use std::sync::Arc;

use picklock_scenarios::Phase;

use crate::history::{Event, KeyCommand, KeyName};
use crate::key_history::{Expiry, KeyUpdate, NodeClocks, may_be_lock_value};
use crate::timeline::{Attempt, Step, UnderWay};

use crate::check::claims::false_answers::FalseAnswers;
use crate::check::claims::left_value::{LeftValue, ReportedState, passing_until_ns};
use crate::check::claims::taken_value::shares_element;

/// Servers count expiries in whole milliseconds, by a clock that they read once for each turn.
pub(in crate::check) const SLACK_NS: u64 = 2_000_000;

/// The values of attempts that are under way, and those that were left.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct KeptValues {
    clocks: NodeClocks,
    false_answers: FalseAnswers,
    /// What is there of each attempt.
    attempts: UnderWay<Vec<Value>>,
    claims: Claims,
    /// In the order in which they were spoken of.
    left: Vec<LeftValue>,
}

/// By place: the worker that took the lock there last, and the values that it has written to take it, as
/// far as their attempts are under way or ended in doubt. What a certain answer was given to is settled.
#[derive(Debug, Clone, Default)]
struct Claims {
    places: Vec<LockValuesHere>,
    /// The attempts that are under way or ended in doubt, in order.
    unsettled: Vec<u64>,
}

/// The same of one place.
#[derive(Debug, Clone, Default)]
struct LockValuesHere {
    worker: usize,
    /// The attempt, and what it wrote.
    values: Vec<(u64, Arc<str>)>,
}

impl Claims {
    fn changed(&mut self, update: &KeyUpdate<'_>) {
        if self.places.len() <= update.place {
            self.places.resize_with(update.place + 1, Default::default);
        }
        let here = &mut self.places[update.place];
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
        // So that it does not grow with every attempt where a key is never removed.
        here.values
            .retain(|(op, _)| self.unsettled.binary_search(op).is_ok());
        here.values.push((command.op, now.value.clone()));
    }

    /// True if a command leaves a value with which its worker has taken the lock in another attempt, or before it took
    /// it once more in the same one.
    fn is_left(&self, command: &KeyCommand, update: &KeyUpdate<'_>) -> bool {
        let there = self.places.get(update.place);
        there.zip(update.now).is_some_and(|(here, now)| {
            let other = |op: &u64| *op != command.op && self.unsettled.binary_search(op).is_ok();
            // One that asked once more within its attempt is in it twice, and leaves once.
            let before = update.before.as_ref();
            let counts = before.is_some_and(|before| shares_element(before.value, now.value));
            let mut left = here.values.iter().filter(|(_, value)| value == now.value);
            here.worker == command.worker
                && left.any(|(op, _)| other(op) || counts && *op == command.op)
        })
    }
}

/// A value of an attempt.
#[derive(Debug, Clone)]
struct Value {
    node: usize,
    key: KeyName,
    expiry: Option<Expiry>,
    /// The attempt has removed it itself.
    removed: bool,
    /// It is a collection in a key of another name than the lock's: perhaps of those who wait.
    is_collection: bool,
    /// The key was free when it was written. Who writes over what stands there may take no lock.
    on_free_key: bool,
}

impl KeptValues {
    pub(in crate::check) fn event(&mut self, event: &Event) {
        self.clocks.event(event);
        self.false_answers.event(event);
    }

    /// The nodes' wall clocks so far.
    pub(in crate::check) fn clocks(&self) -> &NodeClocks {
        &self.clocks
    }

    pub(in crate::check) fn changed(&mut self, at_ns: u64, update: &KeyUpdate<'_>) {
        self.claims.changed(update);
        let removed_own = self.removed_own(update);
        if update.ends_value() || removed_own.is_some() {
            self.left.retain_mut(|left| {
                left.ended(at_ns, update, removed_own);
                !left.kept.is_empty()
            });
        }
        if update.ends_value() {
            self.ended(update, removed_own.is_some());
        }
        let Some(now) = update.now else { return };
        // What a release wrote is no claim of its own: what is left of others, or a mark that the lock is free.
        let author = now.author.filter(|by| by.phase != Phase::Release);
        let Some(values) = author.and_then(|author| self.attempts.get_mut(author.op)) else {
            return;
        };
        let value = Value {
            node: update.node,
            key: update.key.clone(),
            expiry: now.expiry,
            removed: removed_own.is_some(),
            on_free_key: now.on_free_key,
            is_collection: now.value.starts_with('{') && !matches!(update.key, KeyName::Lock(_)),
        };
        match values.iter_mut().find(|value| value.is_at(update)) {
            Some(known) => *known = value,
            None => values.push(value),
        }
    }

    /// A value has ended. That its own release removed it is remembered.
    fn ended(&mut self, update: &KeyUpdate<'_>, removed_own: bool) {
        // The end of a mark that a release wrote leaves its attempt's own removal what it was.
        let author = update.before.as_ref().and_then(|before| before.author);
        let author = author.filter(|by| by.phase != Phase::Release);
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

    /// The attempt that removed its own value, or wrote another in its place, in order to release it.
    fn removed_own(&self, update: &KeyUpdate<'_>) -> Option<u64> {
        let command = update.command()?;
        let before = update.before.as_ref()?;
        let author = before.author?;
        let own = author.shares_attempt(command);
        let releases = matches!(command.phase, Phase::Release | Phase::Idle);
        let gone = update.now.is_none_or(|now| now.value != before.value)
            && !self.claims.is_left(command, update);
        (own && releases && gone).then_some(command.op)
    }

    pub(in crate::check) fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        if step == Step::Requested {
            self.attempts.begin(attempt.op, Vec::new());
            let unsettled = &mut self.claims.unsettled;
            unsettled.insert(unsettled.partition_point(|op| *op < attempt.op), attempt.op);
        }
        if let Some(said) = ReportedState::by(step)
            && !self.false_answers.may_mislead(attempt)
        {
            let kept = match said {
                ReportedState::Free => self.kept(at_ns, attempt.op),
                _ => self.current_values(at_ns, attempt),
            };
            if !kept.is_empty() {
                let written_ns = self.written_ns(attempt.op);
                let left = LeftValue::new(at_ns, attempt, said, kept, written_ns);
                self.left.push(left);
            }
        }
        let certain = match step {
            Step::Denied(denial) => denial.is_definite(),
            Step::Answered { failed, .. } => !failed,
            _ => false,
        };
        if certain && let Ok(index) = self.claims.unsettled.binary_search(&attempt.op) {
            self.claims.unsettled.remove(index);
        }
        if matches!(step, Step::Answered { .. } | Step::Denied(_) | Step::Gone) {
            self.attempts.end(attempt.op);
        }
    }

    /// Where values of the attempt are.
    fn kept(&self, at_ns: u64, op: u64) -> Vec<(usize, KeyName)> {
        self.places(op, |value| {
            let is_lock = may_be_lock_value(&value.key, value.expiry.is_some());
            is_lock && value.lives(&self.clocks, at_ns)
        })
    }

    /// Where values of the attempt are, and go on standing. A lock may keep the end of its lease in the value:
    /// without an expiry it stands as long as that.
    fn current_values(&self, at_ns: u64, attempt: &Attempt) -> Vec<(usize, KeyName)> {
        let until_ns = passing_until_ns(at_ns, attempt);
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

    /// Where values of the attempt are of which that is true. A lock may keep other keys than its own: if a
    /// release has removed one on a node, that was it.
    fn places(&self, op: u64, is_there: impl Fn(&Value) -> bool) -> Vec<(usize, KeyName)> {
        let values = self.attempts.get(op).map_or(&[][..], Vec::as_slice);
        let there = values.iter().filter(|value| {
            let released = |other: &Value| other.node == value.node && other.removed;
            is_there(value) && !values.iter().any(released)
        });
        there.map(|value| (value.node, value.key.clone())).collect()
    }

    /// When the attempt wrote what stands last, if that expires.
    fn written_ns(&self, op: u64) -> Option<u64> {
        let values = self.attempts.get(op)?.iter();
        values.filter_map(|value| Some(value.expiry?.set_ns)).max()
    }

    /// What stayed, in the order in which it was spoken of.
    pub(in crate::check) fn into_left(self) -> Vec<LeftValue> {
        self.left
    }
}

impl Value {
    fn is_at(&self, update: &KeyUpdate<'_>) -> bool {
        (self.node, &self.key) == (update.node, update.key)
    }

    /// True if its expiry is certainly not over then.
    fn lives(&self, clocks: &NodeClocks, at_ns: u64) -> bool {
        let ended_at_ns = |expiry| clocks.ended_at_ns(self.node, expiry);
        (self.expiry).is_none_or(|expiry| ended_at_ns(expiry) > at_ns.saturating_add(SLACK_NS))
    }
}

//! Corrects the attempt of changes that belong to an attempt other than the one that the proxy named.
//!
//! The proxy attributes a command to the request that its client was handling. Three kinds of commands belong to
//! another attempt:
//!
//! - A command on the key of a lock that the client is not requesting comes from an earlier attempt that the client has
//!   given up: a program may answer a request when its own timer fires, while the library continues the attempt.
//! - If the client holds a lock while it requests another lock, a command on the key of the held lock is a background
//!   renewal.
//! - A release, or an attempt that undoes itself, may pass the lock on: it writes the token of a waiting client into
//!   the key. The new value belongs to the client with this token. The change is then split into two: the command
//!   removes its own value, and the waiting client's attempt writes the new value. A client's token is known from its
//!   grant, or from a queue to which its attempt has added it.

use std::collections::HashMap;
use std::sync::Arc;

use picklock_scenarios::Phase;

use crate::history::{Event, EventKind, KeyChange, KeyCommand, KeyName};

use crate::timeline::is_distinctive;

use super::elements::elements;
use super::lock_keys::Locks;

/// The state of an attempt.
#[derive(Debug, Clone, Copy)]
struct AttemptState {
    worker: usize,
    lock: usize,
    /// Whether the attempt ended without a grant.
    is_denied: bool,
    is_granted: bool,
    /// Whether its release was requested.
    is_released: bool,
}

/// Corrects the attempt in each change by the three rules above, after the clients are named. `events` are all events
/// of a run in chronological order, `keys` the names of the locks.
pub(super) fn correct_attempts(events: &mut Vec<Event>, keys: &[String]) {
    if keys.len() < 2 && !events.iter().any(is_later_write) {
        return;
    }
    let mut correction = AttemptCorrection::new(events, keys);
    let mut splits = Vec::new();
    let mut values: HashMap<(usize, KeyName), Arc<str>> = HashMap::new();
    for (index, event) in events.iter_mut().enumerate() {
        correction.record(&event.what);
        let EventKind::KeyChanged {
            node,
            key,
            value,
            why,
            ..
        } = &mut event.what
        else {
            continue;
        };
        let place = (*node, key.clone());
        let before = match value {
            Some(value) => values.insert(place, Arc::clone(value)),
            None => values.remove(&place),
        };
        let KeyChange::Command(command) = why else {
            continue;
        };
        correction.correct_late(key, command);
        if value.is_some() && before == *value {
            correction.correct_renewal(key, command);
        }
        if let Some(owner) = value
            .as_deref()
            .and_then(|value| correction.heir(value, command))
        {
            splits.push((index, owner));
        }
        if let Some(value) = value {
            correction.queued(before.as_deref(), value, command);
        }
    }
    // A command that only prolongs another client's value does not pass the lock on.
    splits.retain(|(index, _)| is_new_value(events, *index));
    for (index, owner) in splits.into_iter().rev() {
        split(events, index, owner);
    }
}

/// Returns `true` if a command outside an acquisition wrote or prolonged a value.
fn is_later_write(event: &Event) -> bool {
    match &event.what {
        EventKind::KeyChanged {
            value: Some(_),
            why: KeyChange::Command(command),
            ..
        } => command.phase != Phase::Acquire,
        _ => false,
    }
}

/// Returns `true` if the change with this index changed the value in its key.
fn is_new_value(events: &[Event], index: usize) -> bool {
    let place = |event: &Event| match &event.what {
        EventKind::KeyChanged { node, key, .. } => Some((*node, key.clone())),
        _ => None,
    };
    let value = |event: &Event| match &event.what {
        EventKind::KeyChanged { value, .. } => value.clone(),
        _ => None,
    };
    let changed = &events[index];
    let mut earlier = events[..index].iter().rev();
    let before = earlier.find(|event| place(event) == place(changed));
    before.and_then(value) != value(changed)
}

/// Splits the change with this index into a removal by its command and a write by the attempt that inherits the lock.
fn split(events: &mut Vec<Event>, index: usize, (worker, op): (usize, u64)) {
    let mut removal = events[index].clone();
    if let EventKind::KeyChanged { value, ttl_ms, .. } = &mut removal.what {
        (*value, *ttl_ms) = (None, None);
    }
    if let EventKind::KeyChanged {
        why: KeyChange::Command(command),
        ..
    } = &mut events[index].what
    {
        (command.worker, command.op) = (worker, op);
        command.phase = Phase::Acquire;
    }
    events.insert(index, removal);
}

struct AttemptCorrection<'a> {
    locks: &'a [String],
    /// The attempt that received each token, by token.
    granted: HashMap<String, (usize, u64)>,
    attempts: HashMap<u64, AttemptState>,
    /// The latest attempt of each worker for each lock.
    latest: HashMap<(usize, usize), u64>,
    /// The attempt that added each element of a collection.
    queued: HashMap<String, (usize, u64)>,
    /// The token of each granted attempt.
    tokens: HashMap<u64, String>,
    /// The latest attempt without a grant of each worker for each lock.
    denied: HashMap<(usize, usize), u64>,
}

impl<'a> AttemptCorrection<'a> {
    fn new(events: &[Event], locks: &'a [String]) -> Self {
        let (mut granted, mut tokens) = (HashMap::new(), HashMap::new());
        for event in events {
            if let EventKind::Granted {
                worker, op, token, ..
            } = &event.what
                && is_distinctive(token)
            {
                tokens.insert(*op, token.clone());
                // A token that several attempts received does not identify any of them.
                let known = granted.entry(token.clone()).or_insert((*worker, *op));
                if known.1 != *op {
                    known.1 = u64::MAX;
                }
            }
        }
        granted.retain(|_, (_, op)| *op != u64::MAX);
        AttemptCorrection {
            locks,
            granted,
            attempts: HashMap::new(),
            latest: HashMap::new(),
            queued: HashMap::new(),
            tokens,
            denied: HashMap::new(),
        }
    }

    fn record(&mut self, what: &EventKind) {
        match *what {
            EventKind::Acquire {
                worker, op, key, ..
            } => {
                let lock = key as usize;
                let known = AttemptState {
                    worker,
                    lock,
                    is_denied: false,
                    is_granted: false,
                    is_released: false,
                };
                self.attempts.insert(op, known);
                self.latest.insert((worker, lock), op);
            }
            EventKind::Refused { op, .. } | EventKind::AcquireFailed { op, .. } => {
                if let Some(attempt) = self.attempts.get_mut(&op) {
                    attempt.is_denied = true;
                    self.denied.insert((attempt.worker, attempt.lock), op);
                }
            }
            EventKind::WorkerDown { worker, .. } => {
                let own = self
                    .attempts
                    .values_mut()
                    .filter(|attempt| attempt.worker == worker);
                own.for_each(|attempt| attempt.is_released = true);
            }
            EventKind::Release { op, .. } => {
                if let Some(attempt) = self.attempts.get_mut(&op) {
                    attempt.is_released = true;
                }
            }
            EventKind::Granted { op, .. } => {
                if let Some(attempt) = self.attempts.get_mut(&op) {
                    attempt.is_granted = true;
                }
            }
            _ => {}
        }
    }

    /// Corrects the attempt of a command that comes from an attempt for another lock, which its client has given up.
    fn correct_late(&self, key: &KeyName, command: &mut KeyCommand) {
        if let Some((op, attempt)) = self.attempt_for_another_lock(key, command)
            && attempt.is_denied
        {
            (command.op, command.phase) = (op, Phase::Acquire);
        }
    }

    /// Corrects the attempt of a command that renews one lock of its client while the client requests another lock.
    fn correct_renewal(&self, key: &KeyName, command: &mut KeyCommand) {
        if let Some((op, attempt)) = self.attempt_for_another_lock(key, command)
            && attempt.is_granted
            && !attempt.is_released
        {
            (command.op, command.phase) = (op, Phase::Idle);
        }
    }

    /// Returns the client's latest attempt for the lock that the key names, if the command was attributed to a request
    /// for another lock, and `None` otherwise.
    fn attempt_for_another_lock(
        &self,
        key: &KeyName,
        command: &KeyCommand,
    ) -> Option<(u64, AttemptState)> {
        let locks = Locks::by_name(self.locks);
        let named = locks.named_by(key)?;
        let current = self.attempts.get(&command.op)?;
        let latest = self.latest.get(&(command.worker, named));
        let op = *latest.filter(|_| named != current.lock)?;
        Some((op, *self.attempts.get(&op)?))
    }

    /// Returns the attempt, not granted so far, to which a command of another attempt passes the lock on by writing
    /// this value.
    fn heir(&self, value: &str, command: &KeyCommand) -> Option<(usize, u64)> {
        let owner = self.granted.get(value).or_else(|| self.queued.get(value));
        let (worker, op) = *owner?;
        let waiting = self.attempts.get(&op).filter(|attempt| !attempt.is_granted);
        // A lock is passed on to a client that waits for the same lock. Tokens that contain little more than the time
        // can be equal on two locks.
        let lock = self.attempts.get(&command.op).map(|attempt| attempt.lock);
        let is_known =
            waiting.is_some_and(|attempt| attempt.worker == worker && Some(attempt.lock) == lock);
        (is_known && op != command.op).then_some((worker, op))
    }

    /// Records the elements that a command adds to a collection, which had the value `before`.
    fn queued(&mut self, before: Option<&str>, value: &str, command: &KeyCommand) {
        let known: Vec<&str> = before.and_then(elements).into_iter().flatten().collect();
        for element in elements(value).into_iter().flatten() {
            if is_distinctive(element) && !known.contains(&element) {
                let owner = (command.worker, self.adder(element, command));
                self.queued.entry(element.to_owned()).or_insert(owner);
            }
        }
    }

    /// Returns the attempt whose command added this element to a collection. If the attempt to which the command was
    /// attributed was granted another token, the command is a late command of an attempt that its client has given up.
    fn adder(&self, element: &str, command: &KeyCommand) -> u64 {
        let token = self.tokens.get(&command.op);
        let attempt = self.attempts.get(&command.op);
        let given_up = attempt.and_then(|attempt| self.denied.get(&(attempt.worker, attempt.lock)));
        match given_up {
            Some(given_up) if token.is_some_and(|token| token != element) => *given_up,
            _ => command.op,
        }
    }
}

#[cfg(test)]
mod tests;

//! Corrects which attempt a change of a key belongs to.
//!
//! The proxy attributes a command to the request that its client was handling. Three kinds of commands belong to
//! another attempt:
//!
//! - A command on the key of a lock other than the one that the client has requested comes from an earlier attempt that
//!   the client has given up: a program may answer a request when its own timer fires, while the library continues the
//!   attempt.
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

use super::lock_keys::Locks;

/// Minimum length of a text that counts as a token, because shorter texts occur by chance.
const MIN_TOKEN_LENGTH: usize = 4;

/// The state of an attempt.
#[derive(Debug, Clone, Copy)]
struct Known {
    worker: usize,
    lock: usize,
    /// Whether the attempt ended without a grant.
    is_denied: bool,
    is_granted: bool,
    /// Whether its release was requested.
    is_released: bool,
}

/// Writes the right attempt into each change. `events` are all events of a run in chronological order, `keys` the names
/// of the locks.
pub fn attribute_changes(events: &mut Vec<Event>, keys: &[String]) {
    if keys.len() < 2 && !events.iter().any(is_later_write) {
        return;
    }
    let mut reader = Reader::new(events, keys);
    let mut splits = Vec::new();
    let mut values: HashMap<(usize, KeyName), Arc<str>> = HashMap::new();
    for (index, event) in events.iter_mut().enumerate() {
        reader.record(&event.what);
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
        reader.correct_late(key, command);
        if value.is_some() && before == *value {
            reader.correct_renewal(key, command);
        }
        if let Some(owner) = value
            .as_deref()
            .and_then(|value| reader.heir(value, command))
        {
            splits.push((index, owner));
        }
        if let Some(value) = value {
            reader.queued(before.as_deref(), value, command);
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

struct Reader<'a> {
    locks: &'a [String],
    /// The attempt that received each token, by token.
    granted: HashMap<String, (usize, u64)>,
    attempts: HashMap<u64, Known>,
    /// The latest attempt of each worker for each lock.
    latest: HashMap<(usize, usize), u64>,
    /// The attempt that added each element of a collection.
    queued: HashMap<String, (usize, u64)>,
    /// The token of each granted attempt.
    tokens: HashMap<u64, String>,
    /// The latest attempt without a grant of each worker for each lock.
    denied: HashMap<(usize, usize), u64>,
}

impl<'a> Reader<'a> {
    fn new(events: &[Event], locks: &'a [String]) -> Self {
        let (mut granted, mut tokens) = (HashMap::new(), HashMap::new());
        for event in events {
            if let EventKind::Granted {
                worker, op, token, ..
            } = &event.what
                && token.len() >= MIN_TOKEN_LENGTH
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
        Reader {
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
                let known = Known {
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
    ) -> Option<(u64, Known)> {
        let locks = Locks {
            names: self.locks,
            of_attempt: &|_| None,
        };
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
        let known = before.and_then(elements).unwrap_or_default();
        for name in elements(value).unwrap_or_default() {
            if name.len() >= MIN_TOKEN_LENGTH && !known.contains(&name) {
                let owner = (command.worker, self.adder(name, command));
                self.queued.entry(name.to_owned()).or_insert(owner);
            }
        }
    }

    /// Returns the attempt whose command added this element to a collection. If the attempt to which the command was
    /// attributed was granted another token, the command is a late one of an attempt that its client has given up.
    fn adder(&self, name: &str, command: &KeyCommand) -> u64 {
        let token = self.tokens.get(&command.op);
        let attempt = self.attempts.get(&command.op);
        let given_up = attempt.and_then(|attempt| self.denied.get(&(attempt.worker, attempt.lock)));
        match given_up {
            Some(given_up) if token.is_some_and(|token| token != name) => *given_up,
            _ => command.op,
        }
    }
}

/// Returns the names of the elements of a collection, or `None` if the value is not one.
fn elements(value: &str) -> Option<Vec<&str>> {
    let inside = value.strip_prefix('{')?.strip_suffix('}')?;
    let elements = inside.split(", ");
    let names = elements.map(|element| element.split_once(": ").map_or(element, |it| it.0));
    Some(names.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acquire(worker: usize, op: u64, key: u32) -> EventKind {
        EventKind::Acquire {
            worker,
            op,
            key,
            ttl_ms: 1000,
            wait_ms: 0,
            intended_ns: None,
            weight: 1,
        }
    }

    fn granted(worker: usize, op: u64, token: &str) -> EventKind {
        EventKind::Granted {
            worker,
            op,
            token: token.into(),
            fence: None,
            valid_ms: None,
            elapsed_ms: None,
        }
    }

    fn change(worker: usize, op: u64, phase: Phase, key: u32, value: Option<&str>) -> EventKind {
        EventKind::KeyChanged {
            node: 0,
            key: KeyName::Lock(key),
            value: value.map(Arc::from),
            ttl_ms: None,
            why: KeyChange::Command(KeyCommand {
                worker,
                op,
                phase,
                command: "EVAL".into(),
                sent_ns: None,
                forwarded_at_ns: None,
                names_unread_value: false,
            }),
        }
    }

    /// Returns worker, attempt and value of each change.
    fn attributed(all: Vec<EventKind>) -> Vec<(usize, u64, Option<String>)> {
        let events = all.into_iter().zip(0..);
        let mut events: Vec<Event> = events.map(|(what, at_ns)| Event { at_ns, what }).collect();
        attribute_changes(&mut events, &["one".into(), "two".into()]);
        let changes = events.into_iter().filter_map(|event| match event.what {
            EventKind::KeyChanged {
                value,
                why: KeyChange::Command(by),
                ..
            } => Some((by.worker, by.op, value.map(|value| value.to_string()))),
            _ => None,
        });
        changes.collect()
    }

    #[test]
    fn value_that_a_release_passes_on_belongs_to_the_waiting_client() {
        let all = vec![
            acquire(0, 1, 0),
            change(0, 1, Phase::Acquire, 0, Some("token-a")),
            granted(0, 1, "token-a"),
            acquire(1, 2, 0),
            change(0, 1, Phase::Release, 0, Some("token-b")),
            granted(1, 2, "token-b"),
        ];
        let expected = [
            (0, 1, Some("token-a".into())),
            (0, 1, None),
            (1, 2, Some("token-b".into())),
        ];
        assert_eq!(attributed(all), expected);
    }

    /// The waiting client has left, so its token is known from the queue only.
    #[test]
    fn value_passed_on_by_a_release_belongs_to_the_queued_client() {
        let all = vec![
            acquire(0, 1, 0),
            granted(0, 1, "token-a"),
            acquire(1, 2, 0),
            change(1, 2, Phase::Acquire, 1, Some("{token-b}")),
            EventKind::Refused { worker: 1, op: 2 },
            change(0, 1, Phase::Release, 0, Some("token-b")),
        ];
        let passed_on = attributed(all).split_off(1);
        assert_eq!(passed_on, [(0, 1, None), (1, 2, Some("token-b".into()))]);
    }

    /// The command that queued the token was late, so that the client was busy with its next attempt. The release of
    /// that attempt passes the lock on to the client's own earlier attempt, which is no longer waiting.
    #[test]
    fn token_queued_by_a_late_command_belongs_to_its_own_attempt() {
        for (booked_on, phase) in [(1, Phase::Idle), (2, Phase::Acquire)] {
            let all = vec![
                acquire(0, 1, 0),
                EventKind::Refused { worker: 0, op: 1 },
                acquire(0, 2, 0),
                change(0, booked_on, phase, 1, Some("{token-a}")),
                change(0, 2, Phase::Acquire, 1, Some("{token-a, token-b}")),
                change(0, 2, Phase::Acquire, 0, Some("token-b")),
                granted(0, 2, "token-b"),
                change(0, 2, Phase::Release, 1, None),
                change(0, 2, Phase::Release, 0, Some("token-a")),
            ];
            let passed_on = attributed(all).split_off(4);
            assert_eq!(passed_on, [(0, 2, None), (0, 1, Some("token-a".into()))]);
        }
    }

    #[test]
    fn late_command_belongs_to_the_attempt_that_its_key_names() {
        let all = vec![
            acquire(0, 1, 0),
            EventKind::Refused { worker: 0, op: 1 },
            acquire(0, 2, 1),
            change(0, 2, Phase::Acquire, 0, Some("token-a")),
            change(0, 2, Phase::Acquire, 1, Some("token-b")),
        ];
        let expected = [
            (0, 1, Some("token-a".into())),
            (0, 2, Some("token-b".into())),
        ];
        assert_eq!(attributed(all), expected);
    }

    #[test]
    fn renewal_belongs_to_the_lock_that_its_client_holds_besides() {
        let all = vec![
            acquire(0, 1, 0),
            change(0, 1, Phase::Acquire, 0, Some("token-a")),
            granted(0, 1, "token-a"),
            acquire(0, 2, 1),
            change(0, 2, Phase::Acquire, 0, Some("token-a")),
        ];
        let renewed = attributed(all).split_off(1);
        assert_eq!(renewed, [(0, 1, Some("token-a".into()))]);
    }

    /// Two clients that take two locks in the same millisecond can write the same token.
    #[test]
    fn equal_token_on_another_lock_is_not_passed_on() {
        let all = vec![
            acquire(0, 1, 0),
            acquire(1, 2, 1),
            change(0, 1, Phase::Acquire, 0, Some("1767225600501")),
            change(1, 2, Phase::Acquire, 1, Some("1767225600501")),
            granted(1, 2, "1767225600501"),
        ];
        let expected =
            [(0, 1), (1, 2)].map(|(worker, op)| (worker, op, Some("1767225600501".into())));
        assert_eq!(attributed(all), expected);
    }

    #[test]
    fn prolonged_value_of_another_client_is_not_passed_on() {
        let all = vec![
            acquire(0, 1, 0),
            acquire(1, 2, 0),
            change(1, 2, Phase::Acquire, 0, Some("token-b")),
            granted(1, 2, "token-b"),
            change(0, 1, Phase::Extend, 0, Some("token-b")),
        ];
        let prolonged = attributed(all).split_off(1);
        assert_eq!(prolonged, [(0, 1, Some("token-b".into()))]);
    }

    /// A lock that uses one key for two names is not excused.
    #[test]
    fn command_on_another_key_stays_with_the_current_request() {
        let all = vec![
            acquire(0, 1, 0),
            granted(0, 1, "token-a"),
            acquire(0, 2, 1),
            change(0, 2, Phase::Acquire, 0, Some("token-b")),
        ];
        assert_eq!(attributed(all), [(0, 2, Some("token-b".into()))]);
    }
}

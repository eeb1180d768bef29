//! Finds the client behind each key change whose command came over connections that several clients of a process share.
//!
//! For such a command the proxy can name only the process. The value usually identifies the client: it is or contains
//! the token of a grant, which only one client received. If the key's name contains the name of a lock, only clients
//! that have requested this lock may have sent the command. A release that passes the lock on replaces its own token
//! with the token of a waiting client. A client removes the value of its own attempt, unless it is granted the lock for
//! that value later. Otherwise the client is the only one in the process that was releasing, or acquiring, at that
//! time. If this is ambiguous, the run has no key history: its verdicts rest on the driver's events, and Picklock
//! blames no single client.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use picklock_scenarios::{Phase, Workload};

use crate::history::{Event, EventKind, KeyChange, KeyCommand, KeyName};

use crate::timeline::are_related;

use super::lock_keys::{Locks, may_be_lock_value};

/// The error that a key change cannot be attributed to one client of a process.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the clients of process {process} share its connections, so the client that sent the {command} that changed \
     `{key}` is unknown"
)]
pub struct UnnamedClient {
    process: usize,
    command: Arc<str>,
    key: String,
}

/// Writes the client into each change that a command of a shared process made. `events` are all events of a run in
/// chronological order, `keys` the names of the locks. `workload` defines which clients share a process.
///
/// # Errors
/// Returns an error if the client of a change is ambiguous, and a lock may rest on the value.
pub(super) fn name_clients(
    events: &mut [Event],
    keys: &[String],
    workload: &Workload,
) -> Result<(), UnnamedClient> {
    let mut resolver = ClientResolver {
        tokens: tokens(events),
        written: written(events),
        clients: BTreeMap::new(),
        held: HashMap::new(),
    };
    let locks = Locks::by_name(keys);
    for event in events {
        let EventKind::KeyChanged {
            node,
            key,
            value,
            ttl_ms,
            why,
        } = &mut event.what
        else {
            resolver.record(&event.what);
            continue;
        };
        let place = (*node, key.clone());
        let before = resolver.held.remove(&place);
        let mut heir = None;
        if let KeyChange::Command(command) = why
            && workload.process_peers(command.worker).nth(1).is_some()
        {
            let expires = ttl_ms.is_some() || before.as_ref().is_some_and(|value| value.expires);
            let change = Change {
                at_ns: event.at_ns,
                process: workload.process_of(command.worker),
                workload,
                key: key.text(keys),
                may_be_lock_value: may_be_lock_value(key, expires),
                lock: locks.named_by(key),
                before: before.as_ref(),
                value: value.as_deref(),
            };
            heir = resolver.name_sender(&change, command)?;
        }
        if let Some(value) = value {
            let stays = before.filter(|before| before.value == *value);
            let held = KeyValue {
                value: Arc::clone(value),
                author: stays.map_or_else(|| writer(why, heir), |before| before.author),
                expires: ttl_ms.is_some(),
            };
            resolver.held.insert(place, held);
        }
    }
    Ok(())
}

/// Returns the command that wrote a value. If the lock was passed on, the command is attributed to `heir`.
fn writer(why: &KeyChange, heir: Option<(usize, Client)>) -> Option<KeyCommand> {
    let mut command = why.command().cloned()?;
    if let Some((worker, client)) = heir {
        (command.worker, command.op, command.phase) = (worker, client.op, client.phase);
    }
    Some(command)
}

/// A key change by a command of a process.
struct Change<'a> {
    at_ns: u64,
    process: usize,
    workload: &'a Workload,
    /// The key's name.
    key: &'a str,
    /// Whether a lock may rest on the value.
    may_be_lock_value: bool,
    /// The lock whose name the key contains, or `None` if it contains none.
    lock: Option<usize>,
    before: Option<&'a KeyValue>,
    value: Option<&'a str>,
}

impl Change<'_> {
    fn is_of_process(&self, worker: usize) -> bool {
        self.workload.process_of(worker) == self.process
    }
}

/// The value that a key holds.
struct KeyValue {
    value: Arc<str>,
    author: Option<KeyCommand>,
    expires: bool,
}

/// The current activity of a client.
#[derive(Debug, Clone, Copy)]
struct Client {
    op: u64,
    /// The lock that the client requested last.
    lock: usize,
    phase: Phase,
    /// Whether the lock reported a grant to the client, and the client has not begun to release it.
    holds: bool,
}

/// The tokens of an attempt, and the time of its grant.
#[derive(Default)]
struct Grants {
    tokens: Vec<String>,
    granted_ns: u64,
}

struct ClientResolver {
    /// The grants of each attempt.
    tokens: HashMap<u64, Grants>,
    /// When each value was written last.
    written: HashMap<Arc<str>, u64>,
    clients: BTreeMap<usize, Client>,
    held: HashMap<(usize, KeyName), KeyValue>,
}

fn tokens(events: &[Event]) -> HashMap<u64, Grants> {
    let mut all: HashMap<u64, Grants> = HashMap::new();
    for event in events {
        let (EventKind::Granted { op, token, .. } | EventKind::ExtendGranted { op, token, .. }) =
            &event.what
        else {
            continue;
        };
        let grants = all.entry(*op).or_default();
        if matches!(event.what, EventKind::Granted { .. }) {
            grants.granted_ns = event.at_ns;
        }
        if !grants.tokens.contains(token) {
            grants.tokens.push(token.clone());
        }
    }
    all
}

fn written(events: &[Event]) -> HashMap<Arc<str>, u64> {
    let values = events.iter().filter_map(|event| match &event.what {
        EventKind::KeyChanged { value, .. } => Some((value.clone()?, event.at_ns)),
        _ => None,
    });
    values.collect()
}

impl ClientResolver {
    fn record(&mut self, what: &EventKind) {
        let (worker, op, phase, holds) = match *what {
            EventKind::Acquire { worker, op, .. } => (worker, op, Phase::Acquire, false),
            EventKind::Extend { worker, op, .. } | EventKind::Reenter { worker, op, .. } => {
                (worker, op, Phase::Extend, true)
            }
            EventKind::Release { worker, op } => (worker, op, Phase::Release, false),
            EventKind::Granted { worker, op, .. }
            | EventKind::ExtendGranted { worker, op, .. }
            | EventKind::Reentered { worker, op, .. }
            | EventKind::ExtendRefused { worker, op }
            | EventKind::ExtendFailed { worker, op, .. } => (worker, op, Phase::Idle, true),
            EventKind::Refused { worker, op }
            | EventKind::AcquireFailed { worker, op, .. }
            | EventKind::Released { worker, op, .. }
            | EventKind::ReleaseFailed { worker, op, .. } => (worker, op, Phase::Idle, false),
            EventKind::WorkerDown { worker, .. } => {
                self.clients.remove(&worker);
                return;
            }
            _ => return,
        };
        let requested = match *what {
            EventKind::Acquire { key, .. } => Some(key as usize),
            _ => None,
        };
        let known = self.clients.get(&worker).map(|client| client.lock);
        let client = Client {
            op,
            lock: requested.or(known).unwrap_or_default(),
            phase,
            holds,
        };
        self.clients.insert(worker, client);
    }

    /// Writes the client that made the change into its command. Returns the client to which the command passed the lock
    /// on, or `None` if it did not.
    ///
    /// # Errors
    /// Returns an error if the client is ambiguous, and a lock may rest on the value.
    fn name_sender(
        &self,
        change: &Change<'_>,
        command: &mut KeyCommand,
    ) -> Result<Option<(usize, Client)>, UnnamedClient> {
        let passed_on = self.passed_on(change);
        let releaser = passed_on.map(|(releaser, _)| releaser);
        let sender = releaser.or_else(|| self.sender(change));
        if sender.is_none() && change.may_be_lock_value {
            return Err(UnnamedClient {
                process: change.process,
                command: Arc::clone(&command.command),
                key: change.key.to_owned(),
            });
        }
        // If no lock rests on the value, any client of the process is good enough.
        let named = sender.or_else(|| self.clients_of_process(change).next());
        if let Some((worker, client)) = named {
            (command.worker, command.op, command.phase) = (worker, client.op, client.phase);
        }
        Ok(passed_on.map(|(_, heir)| heir))
    }

    /// Returns the client that made the change, or `None` if it is ambiguous.
    fn sender(&self, change: &Change<'_>) -> Option<(usize, Client)> {
        match change.value {
            Some(value) => self.writer(change, value),
            None => self.remover(change),
        }
    }

    /// Returns the client that releases the lock and the waiting client to which it passes the lock on: the change
    /// replaces the token of the first client by the token of the second client. Returns `None` if the change does not
    /// pass the lock on.
    fn passed_on(&self, change: &Change<'_>) -> Option<((usize, Client), (usize, Client))> {
        let (before, value) = (&change.before?.value, change.value?);
        if value.starts_with('{') || **before == *value {
            return None;
        }
        let named_in = |value: &str, phase: Phase| -> Vec<_> {
            let is_named = |client: &Client| {
                self.tokens_of(client)
                    .any(|token| are_related(token, value))
            };
            self.clients_of_process(change)
                .filter(|(_, client)| client.phase == phase && is_named(client))
                .collect()
        };
        let releaser = only(&named_in(before, Phase::Release))?;
        Some((releaser, only(&named_in(value, Phase::Acquire))?))
    }

    fn writer(&self, change: &Change<'_>, value: &str) -> Option<(usize, Client)> {
        let is_named = |client: &Client| {
            self.tokens_of(client)
                .any(|token| are_related(token, value))
        };
        let clients = self.clients_of_process(change);
        let named: Vec<_> = clients.filter(|(_, it)| is_named(it)).collect();
        if let Some(one) = only(&named) {
            return Some(one);
        }
        // A value that stays the same was renewed by the client that wrote it.
        let stays = change.before.filter(|before| &*before.value == value);
        if let Some(author) = stays.and_then(|before| self.author(before)) {
            return (change.is_of_process(author.0)).then_some(author);
        }
        let acquires = |(_, client): &(usize, Client)| client.phase == Phase::Acquire;
        if !named.is_empty() {
            // The clients share one token. The value belongs to the waiting client that was granted first.
            return self.first_granted(named.into_iter().filter(acquires));
        }
        // The value does not contain a token.
        let acquiring: Vec<_> = self.clients_of_process(change).filter(acquires).collect();
        let is_opaque = |(_, client): &(usize, Client)| !self.is_written(client);
        only(&acquiring).or_else(|| self.first_granted(acquiring.into_iter().filter(is_opaque)))
    }

    fn remover(&self, change: &Change<'_>) -> Option<(usize, Client)> {
        let author = change.before.and_then(|before| self.author(before));
        let own = author.filter(|(worker, _)| change.is_of_process(*worker));
        // The client releases its value, or undoes an acquisition that it had begun.
        let undoes = |client: &Client| !client.holds && !self.is_granted_later(client, change);
        if let Some(own) =
            own.filter(|(_, client)| client.phase == Phase::Release || undoes(client))
        {
            return Some(own);
        }
        let in_phase = |phase: Phase| -> Vec<_> {
            let clients = self.clients_of_process(change);
            clients
                .filter(|(_, client)| client.phase == phase)
                .collect()
        };
        let releasing = in_phase(Phase::Release);
        if !releasing.is_empty() {
            return only(&releasing);
        }
        let acquiring = in_phase(Phase::Acquire);
        if acquiring.is_empty() {
            own
        } else {
            only(&acquiring)
        }
    }

    /// Returns `true` if the client was granted the lock after the change for the value that the change removes, and
    /// did not write it again: it did not remove it.
    fn is_granted_later(&self, client: &Client, change: &Change<'_>) -> bool {
        let Some(before) = change.before else {
            return false;
        };
        let is_named = |grants: &Grants| {
            let mut tokens = grants.tokens.iter();
            grants.granted_ns >= change.at_ns && tokens.any(|it| are_related(it, &before.value))
        };
        let last_ns = self.written.get(&before.value);
        self.tokens.get(&client.op).is_some_and(is_named)
            && last_ns.is_none_or(|at_ns| *at_ns <= change.at_ns)
    }

    /// Returns the client that wrote this value. Its phase is `Idle` if the client has begun another attempt since.
    fn author(&self, held: &KeyValue) -> Option<(usize, Client)> {
        let author = held.author.as_ref()?;
        let client = Client {
            op: author.op,
            lock: 0,
            phase: Phase::Idle,
            holds: false,
        };
        let current = self.clients.get(&author.worker).copied();
        let current = current.filter(|current| current.op == author.op);
        Some((author.worker, current.unwrap_or(client)))
    }

    /// Returns the clients of the process that may have sent the command: those that have requested the lock whose key
    /// changed or, if no client has, all of them.
    fn clients_of_process(&self, change: &Change<'_>) -> impl Iterator<Item = (usize, Client)> {
        let all = (self.clients.iter())
            .map(|(worker, client)| (*worker, *client))
            .filter(|(worker, _)| change.is_of_process(*worker));
        let fits = |client: &Client| change.lock == Some(client.lock);
        let is_narrowed = all.clone().any(|(_, client)| fits(&client));
        all.filter(move |(_, client)| !is_narrowed || fits(client))
    }

    fn tokens_of(&self, client: &Client) -> impl Iterator<Item = &String> {
        let grants = self.tokens.get(&client.op);
        grants.into_iter().flat_map(|grants| &grants.tokens)
    }

    /// Returns `true` if some written value contains the client's token.
    fn is_written(&self, client: &Client) -> bool {
        self.tokens_of(client).any(|token| {
            self.written.contains_key(token.as_str())
                || self.written.keys().any(|value| are_related(token, value))
        })
    }

    fn first_granted(
        &self,
        clients: impl Iterator<Item = (usize, Client)>,
    ) -> Option<(usize, Client)> {
        let granted =
            clients.filter_map(|client| Some((self.tokens.get(&client.1.op)?.granted_ns, client)));
        let first = granted.min_by_key(|(granted_ns, _)| *granted_ns);
        first.map(|(_, one)| one)
    }
}

fn only(clients: &[(usize, Client)]) -> Option<(usize, Client)> {
    match clients {
        [one] => Some(*one),
        _ => None,
    }
}

#[cfg(test)]
mod tests;

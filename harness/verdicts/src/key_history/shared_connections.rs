//! Names the client behind each key change that arrived over connections which several clients of a process share.
//!
//! For such a command the proxy can name only the process. The value usually identifies the client: it is or contains
//! the token of a grant, which only one client received. Otherwise the client is the only one in the process that was
//! releasing, or acquiring, at that time. If this is ambiguous, the run has no key history: its verdicts rest on the
//! driver's events, and Picklock blames no single client.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use picklock_scenarios::{Phase, Workload};

use crate::history::{Event, EventKind, KeyChange, KeyCommand, KeyName};

use super::lock_keys::may_be_lock_value;

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
pub fn name_clients(
    events: &mut [Event],
    keys: &[String],
    workload: &Workload,
) -> Result<(), UnnamedClient> {
    let mut reader = Reader {
        tokens: tokens(events),
        written: written(events),
        clients: BTreeMap::new(),
        held: HashMap::new(),
    };
    for event in events {
        let EventKind::KeyChanged {
            node,
            key,
            value,
            ttl_ms,
            why,
        } = &mut event.what
        else {
            reader.record(&event.what);
            continue;
        };
        let place = (*node, key.clone());
        let before = reader.held.remove(&place);
        if let KeyChange::Command(command) = why
            && workload.process_peers(command.worker).nth(1).is_some()
        {
            let change = Change {
                process: workload.process_of(command.worker),
                workload,
                before: before.as_ref(),
                value: value.as_deref(),
            };
            let expires = ttl_ms.is_some() || before.as_ref().is_some_and(|it| it.expires);
            let named = match reader.sender(&change) {
                None if may_be_lock_value(key, expires) => {
                    return Err(UnnamedClient {
                        process: change.process,
                        command: Arc::clone(&command.command),
                        key: key.text(keys).to_owned(),
                    });
                }
                // If no lock rests on the value, any client of the process will do.
                named => named.or_else(|| reader.clients_of_process(&change).next()),
            };
            if let Some((worker, client)) = named {
                (command.worker, command.op, command.phase) = (worker, client.op, client.phase);
            }
        }
        if let Some(value) = value {
            let stays = before.filter(|before| before.value == *value);
            let held = Held {
                value: Arc::clone(value),
                author: stays.map_or_else(|| why.command().cloned(), |before| before.author),
                expires: ttl_ms.is_some(),
            };
            reader.held.insert(place, held);
        }
    }
    Ok(())
}

/// A key change by a command of a process.
struct Change<'a> {
    process: usize,
    workload: &'a Workload,
    before: Option<&'a Held>,
    value: Option<&'a str>,
}

impl Change<'_> {
    fn is_of_process(&self, worker: usize) -> bool {
        self.workload.process_of(worker) == self.process
    }
}

/// The value that a key holds.
struct Held {
    value: Arc<str>,
    author: Option<KeyCommand>,
    expires: bool,
}

/// The current activity of a client.
#[derive(Debug, Clone, Copy)]
struct Client {
    op: u64,
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

struct Reader {
    /// By attempt.
    tokens: HashMap<u64, Grants>,
    /// All values that were ever written.
    written: HashSet<Arc<str>>,
    clients: BTreeMap<usize, Client>,
    held: HashMap<(usize, KeyName), Held>,
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

fn written(events: &[Event]) -> HashSet<Arc<str>> {
    let values = events.iter().filter_map(|event| match &event.what {
        EventKind::KeyChanged { value, .. } => value.clone(),
        _ => None,
    });
    values.collect()
}

impl Reader {
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
        self.clients.insert(worker, Client { op, phase, holds });
    }

    /// Returns the client that made the change, or `None` if it is ambiguous.
    fn sender(&self, change: &Change<'_>) -> Option<(usize, Client)> {
        match change.value {
            Some(value) => self.writer(change, value),
            None => self.remover(change),
        }
    }

    fn writer(&self, change: &Change<'_>, value: &str) -> Option<(usize, Client)> {
        let is_named = |client: &Client| self.tokens_of(client).any(|token| is_in(token, value));
        let clients = self.clients_of_process(change);
        let named: Vec<_> = clients.filter(|(_, it)| is_named(it)).collect();
        if let Some(one) = only(&named) {
            return Some(one);
        }
        // A value that stays is renewed by the client that wrote it.
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
        // The client releases its value, or undoes an acquisition that it has begun.
        if let Some(own) = own.filter(|(_, client)| client.phase == Phase::Release || !client.holds)
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

    /// Returns the client that wrote this value. Its phase is idle if it has gone on to another attempt.
    fn author(&self, held: &Held) -> Option<(usize, Client)> {
        let author = held.author.as_ref()?;
        let client = Client {
            op: author.op,
            phase: Phase::Idle,
            holds: false,
        };
        let current = self.clients.get(&author.worker).copied();
        let current = current.filter(|current| current.op == author.op);
        Some((author.worker, current.unwrap_or(client)))
    }

    fn clients_of_process(&self, change: &Change<'_>) -> impl Iterator<Item = (usize, Client)> {
        self.clients
            .iter()
            .map(|(worker, client)| (*worker, *client))
            .filter(|(worker, _)| change.is_of_process(*worker))
    }

    fn tokens_of(&self, client: &Client) -> impl Iterator<Item = &String> {
        let grants = self.tokens.get(&client.op);
        grants.into_iter().flat_map(|grants| &grants.tokens)
    }

    /// Returns whether some written value contains the client's token.
    fn is_written(&self, client: &Client) -> bool {
        self.tokens_of(client).any(|token| {
            self.written.contains(token.as_str())
                || self.written.iter().any(|value| is_in(token, value))
        })
    }

    fn first_granted(
        &self,
        clients: impl Iterator<Item = (usize, Client)>,
    ) -> Option<(usize, Client)> {
        let granted = clients.filter_map(|one| Some((self.tokens.get(&one.1.op)?.granted_ns, one)));
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

/// Minimum length of a token that is searched in values; shorter ones occur by chance.
const MIN_PART_LENGTH: usize = 4;

/// Returns whether token and value are equal, or one contains the other.
fn is_in(token: &str, value: &str) -> bool {
    token == value
        || token.len() >= MIN_PART_LENGTH && value.contains(token)
        || value.len() >= MIN_PART_LENGTH && token.contains(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACQUIRE: Phase = Phase::Acquire;

    fn acquire(worker: usize) -> EventKind {
        EventKind::Acquire {
            worker,
            op: worker as u64 + 10,
            key: 0,
            ttl_ms: 1000,
            wait_ms: 0,
            intended_ns: None,
        }
    }

    fn granted(worker: usize, token: &str) -> EventKind {
        EventKind::Granted {
            worker,
            op: worker as u64 + 10,
            token: token.into(),
            fence: None,
            valid_ms: None,
            elapsed_ms: None,
        }
    }

    fn release(worker: usize) -> EventKind {
        let op = worker as u64 + 10;
        EventKind::Release { worker, op }
    }

    /// Returns a change that the proxy saw from process 0, or from client 9, which has its own process.
    fn by(worker: usize, value: Option<&str>) -> EventKind {
        EventKind::KeyChanged {
            node: 0,
            key: KeyName::Lock(0),
            value: value.map(Arc::from),
            ttl_ms: value.map(|_| 1000),
            why: KeyChange::Command(KeyCommand {
                worker,
                op: worker as u64 + 10,
                phase: ACQUIRE,
                command: "EVAL".into(),
                sent_ns: None,
                forwarded_at_ns: None,
                names_unread_value: false,
            }),
        }
    }

    /// Returns the client and phase of each change. Workers 0 to 8 live in process 0.
    fn named(all: Vec<EventKind>) -> Result<Vec<(usize, Phase)>, UnnamedClient> {
        let events = all.into_iter().zip(0..);
        let mut events: Vec<Event> = events.map(|(what, at_ns)| Event { at_ns, what }).collect();
        let workload = Workload {
            workers: 9,
            processes: Some(1),
            ..Workload::default()
        };
        name_clients(&mut events, &["stock".into()], &workload)?;
        let senders = events.iter().filter_map(|event| match &event.what {
            EventKind::KeyChanged {
                why: KeyChange::Command(by),
                ..
            } => Some((by.worker, by.phase)),
            _ => None,
        });
        Ok(senders.collect())
    }

    #[test]
    fn value_with_a_token_belongs_to_the_client_that_received_it() {
        let all = vec![
            acquire(1),
            acquire(2),
            by(0, Some("token-2")),
            granted(2, "token-2"),
            release(2),
            by(0, None),
            by(0, Some("{holder: token-1}")),
            granted(1, "token-1"),
        ];
        let expected = [(2, ACQUIRE), (2, Phase::Release), (1, ACQUIRE)];
        assert_eq!(named(all).unwrap(), expected);
    }

    #[test]
    fn removal_of_a_held_value_belongs_to_the_only_releaser() {
        let begin = || {
            vec![
                acquire(1),
                by(0, Some("token-1")),
                granted(1, "token-1"),
                acquire(2),
                by(0, Some("token-2")),
                granted(2, "token-2"),
                acquire(3),
            ]
        };
        let mut one = begin();
        one.extend([release(1), by(0, None)]);
        assert_eq!(named(one).unwrap()[2], (1, Phase::Release));
        // Both waiting clients could have removed the value, and so could its holder.
        let mut several = begin();
        several.extend([acquire(4), by(0, None)]);
        assert!(named(several).is_err());
    }

    #[test]
    fn value_with_a_shared_token_belongs_to_the_first_granted() {
        let all = vec![
            acquire(1),
            acquire(2),
            by(0, Some("process-0")),
            granted(2, "process-0"),
            granted(1, "process-0"),
        ];
        assert_eq!(named(all).unwrap(), [(2, ACQUIRE)]);
    }

    #[test]
    fn value_without_a_token_belongs_to_the_next_granted() {
        let all = vec![
            acquire(1),
            acquire(2),
            by(0, Some("held")),
            granted(2, "a"),
            by(9, None),
        ];
        assert_eq!(named(all).unwrap(), [(2, ACQUIRE), (9, ACQUIRE)]);
    }

    #[test]
    fn value_without_any_grant_is_ambiguous() {
        let problem = named(vec![acquire(1), acquire(2), by(0, Some("a"))]).unwrap_err();
        assert_eq!(
            problem.to_string(),
            "the clients of process 0 share its connections, so the client that sent the EVAL that changed `stock` is \
             unknown"
        );
    }
}

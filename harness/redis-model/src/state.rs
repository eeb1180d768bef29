//! The data of a server except its scripts: keys, connections, watches and effects.

use std::collections::{BTreeMap, BTreeSet};

use super::effect::Effect;
use super::key_watch::TouchedKeys;
use super::keyspace::Keyspace;
use super::reply::Refusal;
use super::report::Report;
use super::session::{ClientId, Session, Watched};
use super::waiter::Waiter;
use super::{Now, Reply, ServerVersion};

/// The data of a server except its scripts.
#[derive(Debug, Default)]
pub(super) struct State {
    pub version: ServerVersion,
    pub keyspace: Keyspace,
    pub sessions: BTreeMap<ClientId, Session>,
    pub last_client: u32,
    /// The clients that watch a key, by database and key.
    pub watchers: BTreeMap<(usize, Vec<u8>), Vec<ClientId>>,
    /// Requested commands, options and Lua libraries that are not modelled.
    pub unknown: BTreeSet<String>,
    /// Out-of-band messages, and late replies to blocking commands.
    pub messages: Vec<(ClientId, Reply)>,
    pub effects: Vec<Effect>,
    pub record_effects: bool,
    /// Whether an effect of another server is being applied. Meanwhile expired keys are not removed, because the other
    /// server removes them.
    pub applying: bool,
    /// Whether commands that need memory are refused with OOM.
    pub out_of_memory: bool,
    /// The keys that were written, expired or removed, in order. `None` if they are not recorded.
    pub touched: Option<TouchedKeys>,
    /// The report for an observer. `None` if it is switched off.
    pub report: Option<Report>,
    /// Number of linked replicas.
    pub replicas: i64,
    /// Number of recorded changes, counted from the start, that all replicas have received.
    pub acknowledged: u64,
    /// Number of recorded changes.
    pub recorded: u64,
    /// The blocked clients, longest waiting first.
    pub waiters: Vec<Waiter>,
    /// The changed keys for which clients wait, as database and key.
    pub ready: Vec<(usize, Vec<u8>)>,
}

impl State {
    /// Records a request for something that is not modelled.
    pub(super) fn not_modelled(&mut self, what: &str) -> Refusal {
        self.unknown.insert(what.to_owned());
        Refusal::new(format!("ERR the model of Redis does not know {what}"))
    }

    /// Removes a key if it has expired, as a master does when a command accesses it.
    pub(super) fn expire(&mut self, database: usize, key: &[u8], now: Now) -> bool {
        !self.applying && self.is_expired(database, key, now) && self.expire_now(database, key)
    }

    /// Removes a key as an expiry does. Returns `true` if the key existed.
    pub(super) fn expire_now(&mut self, database: usize, key: &[u8]) -> bool {
        let keys = self.keyspace.databases.get_mut(database);
        if keys.and_then(|keys| keys.remove(key)).is_none() {
            return false;
        }
        if let Some(touched) = &mut self.touched {
            touched.push(database, key, true);
        }
        if let Some(report) = &mut self.report {
            report.notified("expired", database, key);
        }
        self.touch_watchers(database, key);
        self.effect(database, &[b"DEL", key]);
        true
    }

    /// Returns `true` if a key exists and has expired.
    pub(super) fn is_expired(&self, database: usize, key: &[u8], now: Now) -> bool {
        self.keyspace.databases[database]
            .get(key)
            .is_some_and(|entry| entry.is_expired(now.ms()))
    }

    /// Records that a key has changed, and marks its watchers.
    pub(super) fn touch(&mut self, database: usize, key: &[u8]) {
        if let Some(touched) = &mut self.touched {
            touched.push(database, key, false);
        }
        self.touch_watchers(database, key);
    }

    /// Marks the watchers of a changed key.
    fn touch_watchers(&mut self, database: usize, key: &[u8]) {
        if self.watchers.is_empty() {
            return;
        }
        let Some(clients) = self.watchers.get(&(database, key.to_vec())) else {
            return;
        };
        let present = self.keyspace.databases[database].contains_key(key);
        for client in clients {
            let Some(session) = self.sessions.get_mut(client) else {
                continue;
            };
            let mut watched = session.watched.iter_mut();
            match watched.find(|watched| watched.database == database && watched.key == key) {
                // The key had already expired when the watch began, so its removal does not count as a change.
                Some(watched) if watched.expired && !present => watched.expired = false,
                _ => session.dirty = true,
            }
        }
    }

    /// Records that a key has changed, so that clients waiting for it can be served after the current command.
    pub(super) fn signal(&mut self, database: usize, key: &[u8]) {
        let mut waiters = self.waiters.iter();
        if waiters.any(|waiter| waiter.database == database && waiter.wait.takes_from(key)) {
            let place = (database, key.to_vec());
            if !self.ready.contains(&place) {
                self.ready.push(place);
            }
        }
    }

    /// Empties a database, and marks the watchers of its keys.
    pub(super) fn empty(&mut self, database: usize) {
        for key in std::mem::take(&mut self.keyspace.databases[database]).keys() {
            self.touch(database, key);
        }
    }

    /// Watches a key for a client.
    pub(super) fn watch(&mut self, client: ClientId, database: usize, key: &[u8], now: Now) {
        let expired = self.is_expired(database, key, now);
        let Some(session) = self.sessions.get_mut(&client) else {
            return;
        };
        let mut watched = session.watched.iter();
        if watched.any(|watched| watched.database == database && watched.key == key) {
            return;
        }
        session.watched.push(Watched {
            database,
            key: key.to_vec(),
            expired,
        });
        let place = (database, key.to_vec());
        self.watchers.entry(place).or_default().push(client);
    }

    /// Ends all watches of a client.
    pub(super) fn unwatch(&mut self, client: ClientId) {
        let Some(session) = self.sessions.get_mut(&client) else {
            return;
        };
        session.dirty = false;
        for watched in std::mem::take(&mut session.watched) {
            let place = (watched.database, watched.key);
            if let Some(clients) = self.watchers.get_mut(&place) {
                clients.retain(|other| *other != client);
                if clients.is_empty() {
                    self.watchers.remove(&place);
                }
            }
        }
    }

    /// Records a change for replicas and the append-only file.
    pub(super) fn effect(&mut self, database: usize, args: &[&[u8]]) {
        if self.record_effects && !self.applying {
            self.recorded += 1;
            self.effects.push(Effect {
                database,
                args: args.iter().map(|arg| arg.to_vec()).collect(),
            });
        }
    }
}

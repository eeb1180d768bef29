//! The environment of a command's implementation.

use std::collections::VecDeque;

use super::keyspace::Entry;
use super::reply::Refusal;
use super::session::{ClientId, Session};
use super::state::State;
use super::values::{Hash, Set, SortedSet, Value};
use super::{Now, Reply, number};

/// The execution of one command.
pub(super) struct Context<'a> {
    pub state: &'a mut State,
    pub client: ClientId,
    /// Database that the client or the script has selected.
    pub database: usize,
    /// Whether the reply may use RESP3.
    pub resp3: bool,
    pub now: Now,
    /// Whether the command may block. `false` in a script or a transaction.
    pub may_block: bool,
    /// Name of the command in the table, used in error texts and by functions that implement several commands.
    pub name: &'static str,
    /// Whether the command has changed data, so that it must be replicated.
    pub changed: bool,
    /// Whether other commands, which are already recorded, are replicated instead of this command.
    pub reworded: bool,
}

/// Defines methods for each kind of value: one returns the value of a key, and an optional second one creates a missing
/// value.
macro_rules! of_kind {
    ($($method:ident $(or $or_new:ident)?: $kind:ident($value:ty),)*) => {$(
        pub(super) fn $method(&mut self, key: &[u8]) -> Result<Option<&mut $value>, Refusal> {
            match self.entry(key).map(|entry| &mut entry.value) {
                None => Ok(None),
                Some(Value::$kind(value)) => Ok(Some(value)),
                Some(_) => Err(Refusal::WRONG_TYPE),
            }
        }

        $(pub(super) fn $or_new(&mut self, key: &[u8]) -> Result<&mut $value, Refusal> {
            match self.value_or(key, || Value::$kind(<$value>::default())) {
                Value::$kind(value) => Ok(value),
                _ => Err(Refusal::WRONG_TYPE),
            }
        })?
    )*};
}

impl Context<'_> {
    /// Returns a key that exists and has not expired.
    pub(super) fn entry(&mut self, key: &[u8]) -> Option<&mut Entry> {
        if self.state.expire(self.database, key, self.now) {
            return None;
        }
        self.state.keyspace.databases[self.database].get_mut(key)
    }

    /// Returns `true` if the key exists and has not expired.
    pub(super) fn exists(&mut self, key: &[u8]) -> bool {
        self.entry(key).is_some()
    }

    of_kind! {
        string: String(Vec<u8>),
        hash or hash_or_new: Hash(Hash),
        list or list_or_new: List(VecDeque<Vec<u8>>),
        set or set_or_new: Set(Set),
        sorted_set or sorted_set_or_new: SortedSet(SortedSet),
    }

    /// Returns the value of a key. Creates the value if the key is missing.
    fn value_or(&mut self, key: &[u8], empty: impl FnOnce() -> Value) -> &mut Value {
        self.state.expire(self.database, key, self.now);
        let database = &mut self.state.keyspace.databases[self.database];
        &mut database
            .entry(key.to_vec())
            .or_insert_with(|| Entry {
                value: empty(),
                expires_ms: None,
            })
            .value
    }

    /// Replaces the value of a key, with a new expiry.
    pub(super) fn put(&mut self, key: &[u8], value: Value, expires_ms: Option<i64>) {
        let new = Entry { value, expires_ms };
        let database = &mut self.state.keyspace.databases[self.database];
        match database.get_mut(key) {
            Some(entry) => *entry = new,
            None => {
                database.insert(key.to_vec(), new);
            }
        }
        self.touched(key);
    }

    /// Removes a key. Returns `true` if it existed and had not expired.
    pub(super) fn remove(&mut self, key: &[u8]) -> bool {
        if !self.exists(key) {
            return false;
        }
        self.state.keyspace.databases[self.database].remove(key);
        self.touched(key);
        true
    }

    /// Handles the removal of `taken` elements from a value, and returns the reply. Removes the key if the value is
    /// empty.
    pub(super) fn shrunk(&mut self, key: &[u8], taken: usize, is_empty: bool) -> Reply {
        if taken > 0 {
            if is_empty {
                self.state.keyspace.databases[self.database].remove(key);
            }
            self.touched(key);
        }
        Reply::Int(taken as i64)
    }

    /// Records that a key has changed, for its watchers and for the replication of the command.
    pub(super) fn touched(&mut self, key: &[u8]) {
        self.changed = true;
        self.state.touch(self.database, key);
        if !self.state.waiters.is_empty() {
            self.state.signal(self.database, key);
        }
    }

    /// Replicates this command instead of the original one.
    pub(super) fn reword(&mut self, args: &[&[u8]]) {
        self.reworded = true;
        self.state.effect(self.database, args);
    }

    /// Returns the client's connection.
    pub(super) fn session(&mut self) -> &mut Session {
        self.state.sessions.entry(self.client).or_default()
    }

    /// Records a request for something that is not modelled.
    pub(super) fn not_modelled(&mut self, what: &str) -> Refusal {
        self.state.not_modelled(what)
    }

    /// Returns a double in the format of the server's version.
    pub(super) fn double(&self, value: f64) -> Reply {
        Reply::Double(number::double_text(value, self.state.version.since_72()))
    }
}

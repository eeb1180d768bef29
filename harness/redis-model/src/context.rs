//! What a command's implementation may access.

use std::collections::VecDeque;

use super::keyspace::Entry;
use super::reply::Refusal;
use super::session::{ClientId, Session};
use super::state::State;
use super::values::{Hash, Set, SortedSet, Value};
use super::{Now, Reply, number};

/// One command that is being executed.
pub(super) struct Context<'a> {
    pub state: &'a mut State,
    pub client: ClientId,
    /// The database that the client, or the script, has selected.
    pub database: usize,
    /// The reply may use RESP3.
    pub resp3: bool,
    pub now: Now,
    /// False in a script or a transaction, where nothing blocks.
    pub may_block: bool,
    /// The command's name as in the table, for error texts.
    pub name: &'static str,
    /// Something has changed: the command is replicated.
    pub changed: bool,
    /// The command is replicated as other commands, which are already recorded.
    pub reworded: bool,
}

impl Context<'_> {
    /// A key that exists and has not expired.
    pub(super) fn entry(&mut self, key: &[u8]) -> Option<&mut Entry> {
        if self.state.expire(self.database, key, self.now) {
            return None;
        }
        self.state.keyspace.databases[self.database].get_mut(key)
    }

    /// True if the key exists and has not expired.
    pub(super) fn exists(&mut self, key: &[u8]) -> bool {
        self.entry(key).is_some()
    }

    /// A string's bytes.
    pub(super) fn string(&mut self, key: &[u8]) -> Result<Option<&mut Vec<u8>>, Refusal> {
        match self.entry(key).map(|entry| &mut entry.value) {
            None => Ok(None),
            Some(Value::String(bytes)) => Ok(Some(bytes)),
            Some(_) => Err(Refusal::WRONG_TYPE),
        }
    }

    /// A hash.
    pub(super) fn hash(&mut self, key: &[u8]) -> Result<Option<&mut Hash>, Refusal> {
        match self.entry(key).map(|entry| &mut entry.value) {
            None => Ok(None),
            Some(Value::Hash(hash)) => Ok(Some(hash)),
            Some(_) => Err(Refusal::WRONG_TYPE),
        }
    }

    /// A list.
    pub(super) fn list(&mut self, key: &[u8]) -> Result<Option<&mut VecDeque<Vec<u8>>>, Refusal> {
        match self.entry(key).map(|entry| &mut entry.value) {
            None => Ok(None),
            Some(Value::List(list)) => Ok(Some(list)),
            Some(_) => Err(Refusal::WRONG_TYPE),
        }
    }

    /// A set.
    pub(super) fn set(&mut self, key: &[u8]) -> Result<Option<&mut Set>, Refusal> {
        match self.entry(key).map(|entry| &mut entry.value) {
            None => Ok(None),
            Some(Value::Set(set)) => Ok(Some(set)),
            Some(_) => Err(Refusal::WRONG_TYPE),
        }
    }

    /// A sorted set.
    pub(super) fn sorted_set(&mut self, key: &[u8]) -> Result<Option<&mut SortedSet>, Refusal> {
        match self.entry(key).map(|entry| &mut entry.value) {
            None => Ok(None),
            Some(Value::SortedSet(set)) => Ok(Some(set)),
            Some(_) => Err(Refusal::WRONG_TYPE),
        }
    }

    /// The value of a key, which is created if it is missing.
    pub(super) fn value_or(&mut self, key: &[u8], empty: impl FnOnce() -> Value) -> &mut Value {
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

    /// Removes a key. True if it existed and had not expired.
    pub(super) fn remove(&mut self, key: &[u8]) -> bool {
        if !self.exists(key) {
            return false;
        }
        self.state.keyspace.databases[self.database].remove(key);
        self.touched(key);
        true
    }

    /// Removes a key whose collection has become empty. The key has been marked as touched.
    pub(super) fn drop_if(&mut self, key: &[u8], empty: bool) {
        if empty {
            self.state.keyspace.databases[self.database].remove(key);
        }
    }

    /// A key has changed: its watchers must be told, and the command is replicated.
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

    /// The client's connection.
    pub(super) fn session(&mut self) -> &mut Session {
        self.state.sessions.entry(self.client).or_default()
    }

    /// Records a request for something that the model does not know.
    pub(super) fn not_modelled(&mut self, what: &str) -> Refusal {
        self.state.not_modelled(what)
    }

    /// A double, in the format of the server's version.
    pub(super) fn double(&self, value: f64) -> Reply {
        Reply::Double(number::double_text(value, self.state.version.since_72()))
    }
}

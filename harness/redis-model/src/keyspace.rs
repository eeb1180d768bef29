//! Keys, their values and when they expire.

use std::collections::BTreeMap;

use super::values::Value;

/// Number of databases that `SELECT` accepts.
pub(super) const DATABASES: usize = 16;

/// One key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// Value of the key.
    pub value: Value,
    /// Wall-clock time of its expiry, in milliseconds since the Unix epoch.
    pub expires_ms: Option<i64>,
}

impl Entry {
    /// Returns `true` once the clock is *past* the expiry, which is Redis's rule.
    pub(super) fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_ms.is_some_and(|at_ms| now_ms > at_ms)
    }
}

/// The contents of an RDB file: the databases with all keys, including expired keys that no command has accessed since
/// their expiry.
#[derive(Debug, Clone, PartialEq)]
pub struct Keyspace {
    pub(super) databases: Vec<BTreeMap<Vec<u8>, Entry>>,
}

impl Default for Keyspace {
    fn default() -> Self {
        Keyspace {
            databases: vec![BTreeMap::new(); DATABASES],
        }
    }
}

impl Keyspace {
    /// Returns the keys of one database that are not expired at `now_ms`, in byte order.
    pub fn keys(&self, database: usize, now_ms: i64) -> impl Iterator<Item = &[u8]> {
        self.databases
            .get(database)
            .into_iter()
            .flatten()
            .filter(move |(_, entry)| !entry.is_expired(now_ms))
            .map(|(key, _)| key.as_slice())
    }
}

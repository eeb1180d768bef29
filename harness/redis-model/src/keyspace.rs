//! Keys, their values and when they expire.

use std::collections::BTreeMap;

use super::values::Value;

/// Databases that `SELECT` can name.
pub(super) const DATABASES: usize = 16;

/// One key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// What it holds.
    pub value: Value,
    /// Wall-clock time of its expiry, in milliseconds since the Unix epoch.
    pub expires_ms: Option<i64>,
}

impl Entry {
    /// Redis's rule: a key has expired once the clock shows *more* than its expiry.
    pub(super) fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_ms.is_some_and(|at_ms| now_ms > at_ms)
    }
}

/// Everything that a server would write into an RDB file: the databases with all keys, including
/// expired keys that no command has accessed since.
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
    /// The keys of one database that are not expired at `now_ms`, in byte order.
    pub fn keys(&self, database: usize, now_ms: i64) -> impl Iterator<Item = &[u8]> {
        self.databases
            .get(database)
            .into_iter()
            .flatten()
            .filter(move |(_, entry)| !entry.is_expired(now_ms))
            .map(|(key, _)| key.as_slice())
    }
}

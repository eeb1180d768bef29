//! Which keys were touched, and what they hold: what an observer of the server wants to know.

use std::sync::Arc;

use super::keyspace::Entry;
use super::values::Value;

/// The text of a value has at most this many characters.
const MAX_TEXT_LENGTH: usize = 120;

/// A key that was written, removed, or found to be expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touched<'a> {
    /// Its database.
    pub database: usize,
    /// Its name.
    pub key: &'a [u8],
    /// It was removed because it had expired.
    pub expired: bool,
}

/// Such keys, in the order in which they were touched.
///
/// Their names stand in one buffer, one after the other: nearly every command of a lock touches a key,
/// and a name of its own for each would have to be allocated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TouchedKeys {
    names: Vec<u8>,
    keys: Vec<TouchedKey>,
}

/// A key whose name ends there in the buffer, and begins where the one before it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TouchedKey {
    end: usize,
    database: usize,
    expired: bool,
}

impl TouchedKeys {
    /// `expired`: it was removed because it had expired.
    pub(super) fn push(&mut self, database: usize, key: &[u8], expired: bool) {
        self.names.extend_from_slice(key);
        self.keys.push(TouchedKey {
            end: self.names.len(),
            database,
            expired,
        });
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.names.clear();
        self.keys.clear();
    }

    /// The keys, in order. One can come more than once.
    pub fn iter(&self) -> impl Iterator<Item = Touched<'_>> {
        let mut begin = 0;
        self.keys.iter().map(move |touched| {
            let key = &self.names[begin..touched.end];
            begin = touched.end;
            Touched {
                database: touched.database,
                key,
                expired: touched.expired,
            }
        })
    }
}

/// What a key holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldValue {
    /// The value as text. Two values with the same text are the same, unless they are very long.
    pub text: Arc<str>,
    /// When it expires, in milliseconds since the Unix epoch.
    pub expires_ms: Option<i64>,
}

impl HeldValue {
    pub(super) fn of(entry: &Entry) -> Self {
        HeldValue {
            text: text_of(&entry.value),
            expires_ms: entry.expires_ms,
        }
    }
}

fn text_of(value: &Value) -> Arc<str> {
    let text = match value {
        Value::String(bytes) => return short(bytes).map_or_else(|| text(bytes).into(), Arc::from),
        Value::Hash(hash) => listed(hash.iter().map(|(field, value)| pair(field, value))),
        Value::List(list) => listed(list.iter().map(|element| text(element))),
        Value::Set(set) => listed(set.iter().map(|member| text(member))),
        Value::SortedSet(set) => {
            listed((set.iter()).map(|(member, score)| pair(member, score.to_string().as_bytes())))
        }
    };
    text.into()
}

/// The bytes as they are, if they are text that is short enough. Most values of locks are, and every
/// command of a simulated run comes here, so they are not copied twice.
fn short(bytes: &[u8]) -> Option<&str> {
    (bytes.len() <= MAX_TEXT_LENGTH)
        .then(|| std::str::from_utf8(bytes).ok())
        .flatten()
}

fn pair(name: &[u8], value: &[u8]) -> String {
    format!("{}: {}", text(name), text(value))
}

fn listed(parts: impl Iterator<Item = String>) -> String {
    let mut all = String::from("{");
    for part in parts {
        if all.len() > MAX_TEXT_LENGTH {
            all.push_str(", …");
            break;
        }
        if all.len() > 1 {
            all.push_str(", ");
        }
        all.push_str(&part);
    }
    all.push('}');
    all
}

fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(MAX_TEXT_LENGTH) {
        None => text.into_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

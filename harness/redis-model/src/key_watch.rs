//! Touched keys and their values, for an observer of the server.

use std::sync::Arc;

use super::keyspace::Entry;
use super::values::Value;

/// Maximum number of characters in the text of a string or an element.
const MAX_TEXT_LENGTH: usize = 120;

/// Maximum number of bytes in the text of a collection, without its last element. The text must be able to contain all
/// permits of a semaphore.
const MAX_LIST_LENGTH: usize = 16 * 1024;

/// A key that was written, removed, or found to be expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touched<'a> {
    /// Database of the key.
    pub database: usize,
    /// Name of the key.
    pub key: &'a [u8],
    /// Whether the key was removed because it had expired.
    pub expired: bool,
}

/// Touched keys, in the order in which they were touched.
///
/// Their names are concatenated in one buffer: nearly every command of a lock touches a key, and separate names would
/// each need an allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TouchedKeys {
    names: Vec<u8>,
    keys: Vec<TouchedKey>,
}

/// A key whose name ends at this offset in the buffer, and begins where the previous one ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TouchedKey {
    end: usize,
    database: usize,
    expired: bool,
}

impl TouchedKeys {
    /// Adds a key. `expired` is `true` if the key was removed because it had expired.
    pub(super) fn push(&mut self, database: usize, key: &[u8], expired: bool) {
        self.names.extend_from_slice(key);
        self.keys.push(TouchedKey {
            end: self.names.len(),
            database,
            expired,
        });
    }

    /// Returns `true` if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.names.clear();
        self.keys.clear();
    }

    /// Iterates over the keys in order. A key can occur more than once.
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

/// The value and expiry of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldValue {
    /// Value as text. Equal texts mean equal values, except for very long values, which are abbreviated.
    pub text: Arc<str>,
    /// Expiry in milliseconds since the Unix epoch.
    pub expires_ms: Option<i64>,
}

impl HeldValue {
    pub(super) fn from_entry(entry: &Entry) -> Self {
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

/// Returns the bytes as text if they are short and valid UTF-8. This avoids a copy for most lock values, which matters
/// because every command of a simulated run calls this function.
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
        if all.len() > MAX_LIST_LENGTH {
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

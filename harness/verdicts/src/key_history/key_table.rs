//! The current value of each key on each node, and the command that wrote it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::history::{Event, EventKind, KeyChange, KeyCommand, KeyName};

use super::elements::is_rest;
use super::expiry::Expiry;

/// The current value of a key, according to the events of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredValue<'a> {
    /// The value.
    pub value: &'a Arc<str>,
    /// The command that first wrote the value, or `None` if it was found or loaded from disk.
    pub author: Option<&'a KeyCommand>,
    /// Whether the key did not exist when the value was written.
    pub on_free_key: bool,
    /// Sequence number of the value among the values of all keys.
    pub serial: u64,
    /// When the value was written, nanoseconds since the run began.
    pub written_ns: u64,
    /// The latest lifetime that the value was given, or `None` if it never expires.
    pub expiry: Option<Expiry>,
}

/// One change of one key.
#[derive(Debug)]
pub struct KeyUpdate<'a> {
    /// The node of the key.
    pub node: usize,
    /// The key that changed.
    pub key: &'a KeyName,
    /// Sequence number of the key among the keys of all nodes, in the order of their first change; usable as an
    /// index.
    pub key_number: usize,
    /// The reason of the change.
    pub why: &'a KeyChange,
    /// The value before the change.
    pub before: Option<StoredValue<'a>>,
    /// The value after the change.
    pub now: Option<&'a StoredValue<'a>>,
}

impl KeyUpdate<'_> {
    /// Returns the worker's command that made the change, or `None` if no worker made it.
    pub fn command(&self) -> Option<&KeyCommand> {
        self.why.command()
    }

    /// Returns the value before and after the change if the value is still the same, and `None` otherwise.
    fn staying(&self) -> Option<(&StoredValue<'_>, &StoredValue<'_>)> {
        let both = self.before.as_ref().zip(self.now);
        both.filter(|(before, now)| before.serial == now.serial)
    }

    /// Returns `true` if the value is still the same, and its expiry was set or removed.
    pub fn sets_expiry(&self) -> bool {
        self.staying()
            .is_some_and(|(before, now)| now.expiry.is_some() || before.expiry.is_some())
    }

    /// Returns `true` if the value is still the same, and lives longer than before.
    pub fn prolongs(&self) -> bool {
        let expires_at_ns =
            |value: &StoredValue<'_>| value.expiry.map_or(u64::MAX, Expiry::expires_at_ns);
        let staying = self.staying();
        staying.is_some_and(|(before, now)| expires_at_ns(now) > expires_at_ns(before))
    }

    /// Returns `true` if the value was replaced or removed, as opposed to a change of its expiry only.
    pub fn ends_value(&self) -> bool {
        self.before.is_some() && self.staying().is_none()
    }
}

/// The current value of each key on each node.
#[derive(Debug, Clone, Default)]
pub struct KeyTable<'a> {
    numbers: KeyNumbers,
    /// The values, by the number of their key.
    held: Vec<Option<StoredValue<'a>>>,
    written: u64,
}

/// The numbers of the keys of all nodes.
#[derive(Debug, Clone, Default)]
struct KeyNumbers {
    count: usize,
    /// Numbers of keys that have exactly a lock's name, by lock and node. Nearly all key changes concern these keys,
    /// and half of a history's events are key changes.
    locks: Vec<Vec<Option<usize>>>,
    /// Numbers of all other keys, and of locks and nodes from `MAX_INDEXED` on.
    others: BTreeMap<(usize, KeyName), usize>,
}

/// Number of locks, and of nodes per lock, that are looked up by index instead of in the map.
const MAX_INDEXED: usize = 64;

impl KeyNumbers {
    /// Returns the number of a key, and assigns one to a new key.
    fn number(&mut self, node: usize, key: &KeyName) -> usize {
        let known = match key {
            KeyName::Lock(lock) if (*lock as usize) < MAX_INDEXED && node < MAX_INDEXED => {
                let nodes = slot(&mut self.locks, *lock as usize);
                slot(nodes, node).get_or_insert(self.count)
            }
            _ => (self.others.entry((node, key.clone()))).or_insert(self.count),
        };
        let number = *known;
        self.count = self.count.max(number + 1);
        number
    }
}

/// Returns the element at an index, after growing the list if necessary.
fn slot<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

impl<'a> KeyTable<'a> {
    /// Processes one event, and calls `see` if it changes a key.
    ///
    /// A value that a worker's command replaces counts as a new one, unless the same attempt wrote both. An increased
    /// hold count or a refreshed timestamp therefore still belongs to that attempt, and to the command that wrote the
    /// value first.
    ///
    /// A command that removes some elements of a collection leaves the rest to the author of the collection. If that
    /// author is the command's own attempt, the author becomes unknown, because a client that leaves a queue does not
    /// own the remaining elements.
    pub fn event(&mut self, event: &'a Event, see: impl FnOnce(KeyUpdate<'_>)) {
        let EventKind::KeyChanged {
            node,
            key,
            value,
            ttl_ms,
            why,
        } = &event.what
        else {
            return;
        };
        let key_number = self.numbers.number(*node, key);
        let held = slot(&mut self.held, key_number);
        let before = held.as_ref();
        let now = value.as_ref().map(|value| {
            let by = why.command();
            let cut = before.filter(|before| by.is_some() && is_rest(before.value, value));
            let is_foreign = |author: &&KeyCommand| !is_of_one_attempt(Some(*author), by);
            let stays = before.filter(|_| cut.is_none()).filter(|before| {
                // Only the expiry changed, or the same attempt wrote again.
                (before.value == value && !writes_again(why))
                    || is_of_one_attempt(before.author, by)
            });
            self.written += u64::from(stays.is_none());
            StoredValue {
                value,
                serial: stays.map_or(self.written, |before| before.serial),
                on_free_key: stays.map_or(before.is_none(), |before| before.on_free_key),
                written_ns: stays.map_or(event.at_ns, |before| before.written_ns),
                author: match cut {
                    Some(before) => before.author.filter(is_foreign),
                    None => stays.map_or(by, |before| before.author),
                },
                expiry: ttl_ms.map(|ttl_ms| Expiry {
                    set_ns: event.at_ns,
                    ttl_ms,
                }),
            }
        });
        let before = std::mem::replace(held, now);
        see(KeyUpdate {
            node: *node,
            key,
            key_number,
            why,
            before,
            now: held.as_ref(),
        });
    }
}

/// Returns how many values in these events were removed, expired, or replaced.
pub fn ended_values(events: &[Event]) -> u64 {
    let (mut table, mut ends) = (KeyTable::default(), 0);
    for event in events {
        table.event(event, |update| ends += u64::from(update.ends_value()));
    }
    ends
}

/// Returns `true` if the command writes a value even if the key already holds the same one.
fn writes_again(why: &KeyChange) -> bool {
    let command = why.command().map(|by| &*by.command);
    matches!(
        command,
        Some("SET" | "GETSET" | "MSET" | "SETEX" | "PSETEX")
    )
}

/// Returns `true` if one attempt sent both commands, or no worker sent either.
fn is_of_one_attempt(one: Option<&KeyCommand>, other: Option<&KeyCommand>) -> bool {
    let attempt = |by: &KeyCommand| (by.worker, by.op);
    one.map(attempt) == other.map(attempt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_history::KeyRecord;

    #[test]
    fn ended_value_is_counted_and_a_longer_lifetime_is_not() {
        let change = |key: u32, value: Option<&str>, ttl_ms| {
            let record = KeyRecord {
                at_ns: 0,
                key: KeyName::Lock(key),
                value: value.map(Arc::from),
                ttl_ms,
                why: KeyChange::Expired,
            };
            record.into_event(0, 0)
        };
        let events = [
            change(0, Some("a"), Some(1)),
            change(1, Some("a"), None),
            // The lifetime is prolonged.
            change(0, Some("a"), Some(2)),
            // Two values are removed, one after the other.
            change(0, None, None),
            change(0, Some("b"), None),
            change(0, None, None),
        ];
        assert_eq!(ended_values(&events), 2);
    }
}

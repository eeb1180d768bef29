//! What each key of each node holds now, and whose command wrote it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::history::{Event, EventKind, KeyChange, KeyCommand, KeyName};

use super::expiry::Expiry;

/// What a key holds, as the events of the history say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holding<'a> {
    /// The value.
    pub value: &'a Arc<str>,
    /// The command that wrote the value first; `None`: it was found, or came from a disk.
    pub author: Option<&'a KeyCommand>,
    /// The key was free when the value was written.
    pub on_free_key: bool,
    /// Numbers the values of all keys in the order in which they were written.
    pub serial: u64,
    /// When the value was written, nanoseconds since the run began.
    pub written_ns: u64,
    /// The life that it was given last; `None`: it never expires.
    pub expiry: Option<Expiry>,
}

/// One change of one key.
#[derive(Debug)]
pub struct KeyUpdate<'a> {
    /// On which node.
    pub node: usize,
    /// Of which key.
    pub key: &'a KeyName,
    /// Numbers the keys of all nodes in the order in which they were first changed, for use in lists.
    pub place: usize,
    /// Why.
    pub why: &'a KeyChange,
    /// What it held before.
    pub before: Option<Holding<'a>>,
    /// What it holds now.
    pub now: Option<&'a Holding<'a>>,
}

impl KeyUpdate<'_> {
    /// The worker's command that made the change, if one did.
    pub fn command(&self) -> Option<&KeyCommand> {
        self.why.command()
    }

    /// The value as it was, and as it is, if it is still there.
    fn staying(&self) -> Option<(&Holding<'_>, &Holding<'_>)> {
        let both = self.before.as_ref().zip(self.now);
        both.filter(|(before, now)| before.serial == now.serial)
    }

    /// True if the value is still there, and its expiry was set anew or taken away.
    pub fn sets_expiry(&self) -> bool {
        self.staying()
            .is_some_and(|(before, now)| now.expiry.is_some() || before.expiry.is_some())
    }

    /// True if the value is still there, and lives longer than before.
    pub fn prolongs(&self) -> bool {
        let ended_at_ns =
            |holding: &Holding<'_>| holding.expiry.map_or(u64::MAX, Expiry::ended_at_ns);
        let staying = self.staying();
        staying.is_some_and(|(before, now)| ended_at_ns(now) > ended_at_ns(before))
    }

    /// True if the value is another one, or gone: not only its expiry has changed.
    pub fn ends_value(&self) -> bool {
        self.before.is_some() && self.staying().is_none()
    }
}

/// What each key of each node holds.
#[derive(Debug, Clone, Default)]
pub struct KeyTable<'a> {
    places: Places,
    /// By place.
    held: Vec<Option<Holding<'a>>>,
    written: u64,
}

/// The numbers of the keys of all nodes.
#[derive(Debug, Clone, Default)]
struct Places {
    count: usize,
    /// By lock and node: of keys that have exactly a lock's name. Nearly all changes are theirs, and
    /// half of a history's events are changes of keys.
    locks: Vec<Vec<Option<usize>>>,
    /// Of all other keys, and where a history has a crowd of locks or nodes.
    others: BTreeMap<(usize, KeyName), usize>,
}

/// So many locks, and so many nodes of each, are found without a search.
const FEW: usize = 64;

impl Places {
    /// The number of a key, which is new if the key is.
    fn of(&mut self, node: usize, key: &KeyName) -> usize {
        let place = match key {
            KeyName::Lock(lock) if (*lock as usize) < FEW && node < FEW => {
                let nodes = slot(&mut self.locks, *lock as usize);
                slot(nodes, node).get_or_insert(self.count)
            }
            _ => (self.others.entry((node, key.clone()))).or_insert(self.count),
        };
        let place = *place;
        self.count = self.count.max(place + 1);
        place
    }
}

/// The element at this index, before which the list is filled up.
fn slot<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

impl<'a> KeyTable<'a> {
    /// Reads one event, and calls `see` if it changes a key.
    ///
    /// A value that a worker's command replaces is a new one, unless it belongs to the same attempt:
    /// a hold count that goes up, or a time that is refreshed, is still that attempt's, and was
    /// written by the command that wrote it first.
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
        let place = self.places.of(*node, key);
        let held = slot(&mut self.held, place);
        let before = held.as_ref();
        let now = value.as_ref().map(|value| {
            let by = why.command();
            let stays = before.filter(|before| {
                // Only the expiry has changed, or the same attempt has written again.
                (before.value == value && !writes_again(why))
                    || is_of_one_attempt(before.author, by)
            });
            self.written += u64::from(stays.is_none());
            Holding {
                value,
                serial: stays.map_or(self.written, |before| before.serial),
                on_free_key: stays.map_or(before.is_none(), |before| before.on_free_key),
                written_ns: stays.map_or(event.at_ns, |before| before.written_ns),
                author: stays.map_or(by, |before| before.author),
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
            place,
            why,
            before,
            now: held.as_ref(),
        });
    }
}

/// How many values have gone from their keys in these events: removed, expired, or replaced by another.
pub fn ended_values(events: &[Event]) -> u64 {
    let (mut table, mut ends) = (KeyTable::default(), 0);
    for event in events {
        table.event(event, |update| ends += u64::from(update.ends_value()));
    }
    ends
}

/// True for a command that writes a value even if it is the one that is there.
fn writes_again(why: &KeyChange) -> bool {
    let command = why.command().map(|by| &*by.command);
    matches!(
        command,
        Some("SET" | "GETSET" | "MSET" | "SETEX" | "PSETEX")
    )
}

/// True if one attempt sent both commands, or no worker sent either.
fn is_of_one_attempt(one: Option<&KeyCommand>, other: Option<&KeyCommand>) -> bool {
    let attempt = |by: &KeyCommand| (by.worker, by.op);
    one.map(attempt) == other.map(attempt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_history::KeyRecord;

    #[test]
    fn value_that_is_gone_is_counted_and_a_longer_life_is_not() {
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
            // It lives longer.
            change(0, Some("a"), Some(2)),
            // It is gone, and so is the next one.
            change(0, None, None),
            change(0, Some("b"), None),
            change(0, None, None),
        ];
        assert_eq!(ended_values(&events), 2);
    }
}

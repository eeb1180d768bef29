//! The permits of a semaphore, and the holds of a read/write lock, each with its own author and its own end.
//!
//! A semaphore stores its permits in one value. If that is a hash or a sorted set whose elements name their holders,
//! each element is a permit: a change of the value becomes the changes of the elements that it added and removed. The
//! number of an element, such as the end of its lease, belongs to its value. This number is a time on an unknown clock,
//! so a permit has no expiry here. Any other value, such as a number or a list of tokens, does not belong to a holder,
//! but only counts the permits.
//!
//! A read/write lock stores its holders in the same way, or in a set. A field of its hash whose value is not a number,
//! such as the mode, does not belong to a holder. If its holders are in several keys, the value of a key that is no
//! collection is a hold, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use picklock_scenarios::LockKind;

use crate::history::{Event, EventKind, KeyName};

use super::lock_keys::Locks;
use super::permit_stores::{PermitStores, Permits, only_hold, permits_in};

/// Replaces each change of a value that stores permits by the changes of the permits. `keys` are the names of the
/// locks, which are all of this `kind`.
pub(super) fn split_permits(events: &mut Vec<Event>, keys: &[String], kind: LockKind) {
    let stores = PermitStores::find(events, keys, kind);
    let locks = Locks::by_name(keys);
    // The current permits in each store, by node and key.
    let mut held: BTreeMap<(usize, KeyName), Permits> = BTreeMap::new();
    let mut split = Vec::with_capacity(events.len());
    for event in events.drain(..) {
        let EventKind::KeyChanged {
            node,
            key,
            value,
            ttl_ms,
            why,
        } = &event.what
        else {
            split.push(event);
            continue;
        };
        let Some(&lock) = stores.all.get(key) else {
            split.push(stores.beside(event, locks));
            continue;
        };
        let changed = |key: KeyName, value: Option<Arc<str>>, ttl_ms: Option<i64>| Event {
            at_ns: event.at_ns,
            what: EventKind::KeyChanged {
                node: *node,
                key,
                value,
                ttl_ms,
                why: why.clone(),
            },
        };
        let permits = held.entry((*node, key.clone())).or_default();
        let is_split = stores.in_several_keys.contains(&lock);
        let now = value
            .as_deref()
            .map(|value| permits_in(value, kind).or_else(|| is_split.then(|| only_hold(value))));
        let is_unnamed = permits.is_empty() && now.as_ref().is_none_or(Option::is_none);
        if is_unnamed && kind != LockKind::Semaphore {
            split.push(event);
            continue;
        }
        if is_unnamed {
            let count = KeyName::Count { permits_of: lock };
            split.push(changed(count, value.clone(), *ttl_ms));
            continue;
        }
        let now = now.flatten().unwrap_or_default();
        let name = keys.get(lock as usize).map_or("", String::as_str);
        let permit = |element: &str| KeyName::Permit {
            lock,
            permit: Arc::from(format!("{name} [{element}]")),
        };
        let gone = permits.keys().filter(|element| !now.contains_key(*element));
        split.extend(gone.map(|element| changed(permit(element), None, None)));
        let new = now
            .iter()
            .filter(|(element, value)| permits.get(*element) != Some(value));
        split.extend(
            new.map(|(element, value)| changed(permit(element), Some(Arc::clone(value)), None)),
        );
        *permits = now;
    }
    *events = split;
}

#[cfg(test)]
mod tests {
    use picklock_scenarios::Phase;

    use super::*;
    use crate::history::{KeyChange, KeyCommand};

    fn change(op: u64, phase: Phase, key: KeyName, value: Option<&str>) -> Event {
        Event {
            at_ns: op,
            what: EventKind::KeyChanged {
                node: 0,
                key,
                value: value.map(Arc::from),
                ttl_ms: Some(9),
                why: KeyChange::Command(KeyCommand {
                    worker: 0,
                    op,
                    phase,
                    command: "EVALSHA".into(),
                    sent_ns: None,
                    forwarded_at_ns: None,
                    names_unread_value: false,
                }),
            },
        }
    }

    /// Returns the key and the value of each change.
    fn after_split(mut events: Vec<Event>) -> Vec<(KeyName, Option<String>)> {
        split_permits(&mut events, &["slots".into()], LockKind::Semaphore);
        let changes = events.into_iter().filter_map(|event| match event.what {
            EventKind::KeyChanged { key, value, .. } => {
                Some((key, value.map(|value| value.to_string())))
            }
            _ => None,
        });
        changes.collect()
    }

    fn permit(name: &str) -> KeyName {
        KeyName::Permit {
            lock: 0,
            permit: Arc::from(format!("slots [{name}]")),
        }
    }

    #[test]
    fn each_element_has_its_own_author_and_end() {
        let key = || KeyName::Other("semaphore:slots".into());
        let changes = after_split(vec![
            change(1, Phase::Acquire, key(), Some("{a: 17}")),
            change(2, Phase::Acquire, key(), Some("{a: 17, b: 18.5}")),
            change(1, Phase::Extend, key(), Some("{a: 19, b: 18.5}")),
            change(1, Phase::Release, key(), Some("{b: 18.5}")),
            change(
                3,
                Phase::Acquire,
                KeyName::Other("slots:queue".into()),
                Some("{c: 1}"),
            ),
            change(2, Phase::Release, key(), None),
        ]);
        let expected = [
            (permit("a"), Some("a: 17".to_owned())),
            (permit("b"), Some("b: 18.5".to_owned())),
            (permit("a"), Some("a: 19".to_owned())),
            (permit("a"), None),
            (
                KeyName::Beside {
                    beside: 0,
                    name: "slots:queue".into(),
                },
                Some("{c: 1}".to_owned()),
            ),
            (permit("b"), None),
        ];
        assert_eq!(changes, expected);
    }

    fn granted(op: u64, token: &str) -> Event {
        Event {
            at_ns: op,
            what: EventKind::Granted {
                worker: 0,
                op,
                token: token.to_owned(),
                fence: None,
                valid_ms: None,
                elapsed_ms: None,
            },
        }
    }

    fn release(op: u64) -> Event {
        let what = EventKind::Release { worker: 0, op };
        Event { at_ns: op, what }
    }

    /// A client that waits leaves its token in a queue, and takes the permit under the same token.
    #[test]
    fn permits_are_in_the_collection_that_names_the_grants() {
        let queue = || KeyName::Other("slots:queue".into());
        let holders = || KeyName::Other("slots:holders".into());
        let changes = after_split(vec![
            change(1, Phase::Acquire, queue(), Some("{wait-a: 1}")),
            change(1, Phase::Acquire, queue(), None),
            change(1, Phase::Acquire, KeyName::Lock(0), Some("1")),
            change(1, Phase::Acquire, holders(), Some("{wait-a: 17}")),
            granted(1, "wait-a"),
            change(1, Phase::Release, holders(), None),
        ]);
        let queue = || KeyName::Beside {
            beside: 0,
            name: "slots:queue".into(),
        };
        let expected = [
            (queue(), Some("{wait-a: 1}".to_owned())),
            (queue(), None),
            (KeyName::Count { permits_of: 0 }, Some("1".to_owned())),
            (permit("wait-a"), Some("wait-a: 17".to_owned())),
            (permit("wait-a"), None),
        ];
        assert_eq!(changes, expected);
    }

    #[test]
    fn number_and_list_of_tokens_name_no_holder() {
        let key = || KeyName::Lock(0);
        let count = KeyName::Count { permits_of: 0 };
        for value in ["1", "{token-1, token-2}"] {
            let changes = after_split(vec![change(1, Phase::Acquire, key(), Some(value))]);
            assert_eq!(changes, [(count.clone(), Some(value.to_owned()))]);
        }
    }

    #[test]
    fn field_of_a_read_write_lock_without_a_number_is_no_holder() {
        let mut events = vec![
            change(
                1,
                Phase::Acquire,
                KeyName::Lock(0),
                Some("{mode: read, a: 1}"),
            ),
            change(
                2,
                Phase::Acquire,
                KeyName::Lock(0),
                Some("{mode: read, a: 1, b: 1}"),
            ),
            change(
                1,
                Phase::Release,
                KeyName::Lock(0),
                Some("{mode: read, b: 1}"),
            ),
        ];
        split_permits(&mut events, &["slots".into()], LockKind::Rwlock);
        let changed: Vec<(String, bool)> = (events.iter())
            .filter_map(|event| match &event.what {
                EventKind::KeyChanged { key, value, .. } => {
                    Some((key.text(&["slots".into()]).to_owned(), value.is_some()))
                }
                _ => None,
            })
            .collect();
        let expected = [
            ("slots [a]", true),
            ("slots [b]", true),
            ("slots [a]", false),
        ];
        assert_eq!(
            changed,
            expected.map(|(key, is_there)| (key.to_owned(), is_there))
        );
    }

    /// The writer's key and the readers' set both hold the lock, but the queue does not.
    #[test]
    fn holders_of_a_read_write_lock_may_be_in_several_keys() {
        let key = |end: &str| KeyName::Other(format!("slots:{end}").into());
        let mut events = vec![
            change(1, Phase::Acquire, key("queue"), Some("{w1}")),
            change(1, Phase::Acquire, key("writer"), Some("w1")),
            granted(1, "w1"),
            change(1, Phase::Acquire, key("queue"), None),
            release(1),
            change(1, Phase::Release, key("writer"), None),
            change(2, Phase::Acquire, key("readers"), Some("{r2}")),
            granted(2, "r2"),
            change(3, Phase::Acquire, key("readers"), Some("{r2, r3}")),
            granted(3, "r3"),
            release(3),
        ];
        split_permits(&mut events, &["slots".into()], LockKind::Rwlock);
        let changed = events.iter().filter_map(|event| match &event.what {
            EventKind::KeyChanged { key, .. } => Some(key.text(&[]).to_owned()),
            _ => None,
        });
        let expected = [
            "slots:queue",
            "slots [w1]",
            "slots:queue",
            "slots [w1]",
            "slots [r2]",
            "slots [r3]",
        ];
        assert_eq!(changed.collect::<Vec<_>>(), expected);
    }
}

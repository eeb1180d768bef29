//! Finds the keys that hold a lock, and the command that took it. The keys and the command are derived from the writes,
//! so a lock may choose any names for its keys.

use std::collections::BTreeSet;
use std::ops::Range;

use picklock_scenarios::Phase;

use crate::history::{KeyChange, KeyName};

use super::key_record::KeyRecord;

/// Returns `true` if a lock may rest on a value in this key: the value expires, or the key has exactly the lock's name.
/// This excludes counters next to the lock.
pub fn may_be_lock_value(key: &KeyName, expires: bool) -> bool {
    key.may_hold_lock(expires)
}

/// The locks of a run, for recognising their keys.
#[derive(Clone, Copy)]
pub struct Locks<'a> {
    /// The locks' names.
    pub names: &'a [String],
    /// Returns the lock of an attempt, by its position in `names`.
    pub of_attempt: &'a dyn Fn(u64) -> Option<usize>,
}

impl<'a> Locks<'a> {
    /// Recognises keys by the names of the locks alone, and not by the attempts that wrote them.
    pub fn by_name(names: &'a [String]) -> Self {
        Locks {
            names,
            of_attempt: &|_| None,
        }
    }

    /// Returns the lock of the attempt that made this change, or `None` if no worker's command made it.
    fn lock_of(&self, record: &KeyRecord) -> Option<usize> {
        match &record.why {
            KeyChange::Command(_) if self.names.len() == 1 => Some(0),
            KeyChange::Command(command) => (self.of_attempt)(command.op),
            _ => None,
        }
    }

    /// Returns the lock whose name is the key's name or is contained in it. If there are several, the longest name
    /// wins.
    pub fn named_by(&self, key: &KeyName) -> Option<usize> {
        let name = match key {
            KeyName::Other(name) => name,
            KeyName::Beside { beside, .. } => return usize::try_from(*beside).ok(),
            KeyName::Lock(_) | KeyName::Permit { .. } | KeyName::Count { .. } => {
                return usize::try_from(key.lock()?).ok();
            }
        };
        let is_contained = |lock: &str| !lock.is_empty() && name.contains(lock);
        let named = self.names.iter().enumerate();
        let contained = named.filter(|(_, lock)| is_contained(lock));
        Some(contained.max_by_key(|(_, lock)| lock.len())?.0)
    }
}

/// Returns the keys in which this lock is held, according to the changes so far of one node's keys.
///
/// This is the key with exactly the lock's name if an acquisition has written it, and otherwise the keys that contain
/// the name. If several keys contain it, only those count that have had an expiry or were removed, because a counter
/// next to the lock stays. If no key contains the name, the lock's key has another kind of name, such as a hash. Then
/// those keys count that have had an expiry or were removed, and that only attempts to acquire this lock have written.
pub fn lock_keys<'a>(
    records: &'a [KeyRecord],
    locks: Locks<'_>,
    lock: usize,
) -> BTreeSet<&'a KeyName> {
    let written = records.iter().filter(|record| is_acquired(record));
    let of_the_lock = |record: &&KeyRecord| locks.named_by(&record.key) == Some(lock);
    let named = written.clone().filter(of_the_lock);
    let named: BTreeSet<&KeyName> = named.map(|record| &record.key).collect();
    let is_own = |key: &&KeyName| matches!(key, KeyName::Lock(_));
    if let Some(own) = named.iter().copied().find(is_own) {
        return BTreeSet::from([own]);
    }
    let comes_and_goes = |key: &&KeyName| {
        let mut changes = records.iter().filter(|record| record.key == **key);
        changes.any(|record| record.ttl_ms.is_some() || record.value.is_none())
    };
    if named.is_empty() {
        let passing = written.filter(|record| comes_and_goes(&&record.key));
        let unnamed = passing.filter(|record| locks.named_by(&record.key).is_none());
        let of_locks = unnamed.filter_map(|record| Some((&record.key, locks.lock_of(record)?)));
        return own_keys(of_locks, lock);
    }
    let passing: BTreeSet<&KeyName> = named.iter().copied().filter(comes_and_goes).collect();
    if passing.is_empty() {
        // None of these keys has had an expiry or was removed. Keep them all: the lock may have been taken only once,
        // and not have set its expiry yet.
        named
    } else {
        passing
    }
}

/// Filters keys that were written to acquire locks: returns those that attempts for this lock have written. A key that
/// attempts for other locks have also written counts only if there is no other key, because all locks may share a
/// heartbeat, or a single key.
pub(super) fn own_keys<'a, L: PartialEq>(
    written: impl Iterator<Item = (&'a KeyName, L)>,
    lock: L,
) -> BTreeSet<&'a KeyName> {
    let (mut own, mut others) = (BTreeSet::new(), BTreeSet::new());
    for (key, owner) in written {
        let keys = if owner == lock { &mut own } else { &mut others };
        keys.insert(key);
    }
    if own.iter().any(|key| !others.contains(key)) {
        own.retain(|key| !others.contains(key));
    }
    own
}

/// Returns `true` if one of these changes gave a lock a new owner: an acquisition wrote a new value into the lock's
/// key. A new expiry alone does not count.
pub fn takes_lock(records: &[KeyRecord], changes: Range<usize>, locks: Locks<'_>) -> bool {
    let known = &records[..changes.end];
    changes.into_iter().any(|index| {
        let record = &records[index];
        let mut earlier = records[..index].iter().rev();
        let before = earlier.find(|before| before.key == record.key);
        is_acquired(record)
            && before.and_then(|before| before.value.as_ref()) != record.value.as_ref()
            && lock_of_key(known, &record.key, locks).is_some()
    })
}

/// Returns the lock that is held in this key, according to the changes so far of the node's keys.
pub fn lock_of_key(records: &[KeyRecord], key: &KeyName, locks: Locks<'_>) -> Option<usize> {
    let mut held = 0..locks.names.len();
    held.find(|lock| lock_keys(records, locks, *lock).contains(key))
}

/// Returns `true` if a worker wrote the value, or renewed its expiry, in order to acquire.
pub fn is_acquired(record: &KeyRecord) -> bool {
    let command = record.why.command();
    record.value.is_some() && command.is_some_and(|command| command.phase == Phase::Acquire)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::history::KeyCommand;

    const OTHER: &str = "";

    /// Returns a change by an acquisition. An empty value means that the key is removed.
    fn change(key: &str, value: &str, ttl_ms: Option<i64>) -> KeyRecord {
        KeyRecord {
            at_ns: 0,
            key: match key {
                OTHER => KeyName::Lock(0),
                name => KeyName::Other(Arc::from(name)),
            },
            value: (!value.is_empty()).then(|| Arc::from(value)),
            ttl_ms,
            why: KeyChange::Command(KeyCommand {
                worker: 0,
                op: 1,
                phase: Phase::Acquire,
                command: Arc::from("SET"),
                sent_ns: None,
                forwarded_at_ns: None,
                names_unread_value: false,
            }),
        }
    }

    fn in_phase(phase: Phase, mut record: KeyRecord) -> KeyRecord {
        if let KeyChange::Command(command) = &mut record.why {
            command.phase = phase;
        }
        record
    }

    fn locks() -> Vec<String> {
        vec!["stock:1".into(), "stock:12".into()]
    }

    /// Odd attempts are for the first lock, even ones for the second.
    fn lock_of_attempt(op: u64) -> Option<usize> {
        Some(usize::from(op.is_multiple_of(2)))
    }

    fn locks_named<'a>(names: &'a [String]) -> Locks<'a> {
        Locks {
            names,
            of_attempt: &lock_of_attempt,
        }
    }

    fn in_attempt(op: u64, mut record: KeyRecord) -> KeyRecord {
        if let KeyChange::Command(command) = &mut record.why {
            command.op = op;
        }
        record
    }

    fn names(records: &[KeyRecord], lock: usize) -> Vec<String> {
        let locks = locks();
        let keys = lock_keys(records, locks_named(&locks), lock).into_iter();
        keys.map(|key| key.text(&locks).to_owned()).collect()
    }

    #[test]
    fn prefixed_key_holds_the_lock_but_a_counter_does_not() {
        let records = [
            change("lock:stock:1", "a", Some(9)),
            change("lock:stock:1:fence", "1", None),
            change("lock:stock:12", "b", Some(9)),
            in_phase(Phase::Release, change("signal:stock:1", "x", Some(9))),
        ];
        assert_eq!(names(&records, 0), ["lock:stock:1"]);
        assert_eq!(names(&records, 1), ["lock:stock:12"]);
    }

    #[test]
    fn key_with_the_exact_name_takes_precedence() {
        let records = [
            change("queue:stock:1", "a", Some(9)),
            change(OTHER, "a", None),
        ];
        assert_eq!(names(&records[..1], 0), ["queue:stock:1"]);
        assert_eq!(names(&records, 0), ["stock:1"]);
    }

    #[test]
    fn only_key_without_expiry_holds_the_lock() {
        assert_eq!(
            names(&[change("lock:stock:1", "a", None)], 0),
            ["lock:stock:1"]
        );
    }

    #[test]
    fn hashed_key_belongs_to_the_lock_whose_attempts_write_it() {
        let records = [
            change("5f2a", "a", Some(9)),
            in_attempt(2, change("c001", "b", Some(9))),
            // All locks share a heartbeat and a counter.
            change("clients", "a", Some(9)),
            in_attempt(2, change("clients", "b", Some(9))),
            change("fence", "1", None),
        ];
        assert_eq!(names(&records, 0), ["5f2a"]);
        assert_eq!(names(&records, 1), ["c001"]);
        assert_eq!(names(&records[3..], 0), [""; 0]);
        let known = locks();
        let of_key = |key| lock_of_key(&records, key, locks_named(&known));
        assert_eq!(of_key(&records[1].key), Some(1));
        assert_eq!(of_key(&records[2].key), None);
    }

    #[test]
    fn hashed_key_belongs_to_the_only_lock() {
        let one = [locks().remove(0)];
        let unknown = Locks::by_name(&one);
        assert_eq!(
            lock_keys(&[change("5f2a", "a", Some(9))], unknown, 0).len(),
            1
        );
        assert_eq!(
            lock_keys(&[change("clients", "a", None)], unknown, 0).len(),
            0
        );
    }

    #[test]
    fn key_that_two_locks_share_belongs_to_both() {
        let records = [
            change("5f2a", "a", Some(9)),
            in_attempt(2, change("5f2a", "b", Some(9))),
        ];
        assert_eq!(names(&records, 0), ["5f2a"]);
        assert_eq!(names(&records, 1), ["5f2a"]);
    }

    #[test]
    fn only_a_new_value_written_to_acquire_takes_the_lock() {
        let records = [
            change(OTHER, "a", None),
            // A new expiry for the same value.
            change(OTHER, "a", Some(9)),
            in_phase(Phase::Extend, change(OTHER, "b", Some(9))),
            in_phase(Phase::Release, change(OTHER, "", None)),
            change(OTHER, "a", Some(9)),
            change("stock:1:fence", "1", None),
        ];
        let takes: Vec<bool> = (0..records.len())
            .map(|index| takes_lock(&records, index..index + 1, locks_named(&locks())))
            .collect();
        assert_eq!(takes, [true, false, false, false, true, false]);
        assert!(takes_lock(&records, 3..5, locks_named(&locks())));
        assert!(!takes_lock(&records, 2..2, locks_named(&locks())));
    }
}

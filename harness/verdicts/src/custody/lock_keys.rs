//! Which keys hold a lock, and which command took it: read from what was written, so that a lock may
//! call its key what it likes.

use std::collections::BTreeSet;
use std::ops::Range;

use picklock_scenarios::Phase;

use crate::history::{KeyChange, KeyName};

use super::key_record::KeyRecord;

/// True if a lock may rest on a value in this key: it expires, or the key is the lock's own. A counter
/// beside the lock is no claim.
pub fn may_be_a_claim(key: &KeyName, expires: bool) -> bool {
    expires || matches!(key, KeyName::Lock(_))
}

/// The names of the keys in which this lock is held, by the changes of one node's keys so far.
///
/// That is the key of its own name, if an acquisition has written it; else those that contain its name.
/// Of several, those count that come and go as a lock does: a counter beside them stays. Where a run has
/// one lock only and no such name, its key has a name of another kind (a hash): it is one that comes and
/// goes.
pub fn lock_keys<'a>(
    records: &'a [KeyRecord],
    locks: &[String],
    lock: usize,
) -> BTreeSet<&'a KeyName> {
    let written = records.iter().filter(|record| is_acquired(record));
    let written: BTreeSet<&KeyName> = written.map(|record| &record.key).collect();
    let of_the_lock = |key: &&KeyName| lock_of(key, locks) == Some(lock);
    let mut own = written.iter().copied();
    let own = own.find(|key| matches!(key, KeyName::Lock(number) if *number as usize == lock));
    if let Some(own) = own {
        return BTreeSet::from([own]);
    }
    let comes_and_goes = |key: &&KeyName| {
        let mut of_it = records.iter().filter(|record| record.key == **key);
        of_it.any(|record| record.ttl_ms.is_some() || record.value.is_none())
    };
    let named: BTreeSet<&KeyName> = written.iter().copied().filter(of_the_lock).collect();
    if named.is_empty() && locks.len() == 1 {
        return written.into_iter().filter(comes_and_goes).collect();
    }
    let passing: BTreeSet<&KeyName> = named.iter().copied().filter(comes_and_goes).collect();
    match passing.is_empty() {
        // It may be the first lock without an expiry.
        true => named,
        false => passing,
    }
}

/// True if one of these changes gave a lock a new owner: an acquisition wrote a value into its key
/// that was not there before. A new expiry alone is none.
pub fn takes_lock(records: &[KeyRecord], changes: Range<usize>, locks: &[String]) -> bool {
    let known = &records[..changes.end];
    let holds_a_lock = |key| {
        let mut locks_held = (0..locks.len()).map(|lock| lock_keys(known, locks, lock));
        locks_held.any(|keys| keys.contains(key))
    };
    changes.into_iter().any(|index| {
        let record = &records[index];
        let mut earlier = records[..index].iter().rev();
        let before = earlier.find(|before| before.key == record.key);
        is_acquired(record)
            && before.and_then(|before| before.value.as_ref()) != record.value.as_ref()
            && holds_a_lock(&record.key)
    })
}

/// True for a value that a worker has written, or lengthened the life of, in order to acquire.
fn is_acquired(record: &KeyRecord) -> bool {
    let by_acquisition = match &record.why {
        KeyChange::Command(command) => command.phase == Phase::Acquire,
        _ => false,
    };
    by_acquisition && record.value.is_some()
}

/// The lock whose name a key's name is or contains; of several the longest.
fn lock_of(key: &KeyName, locks: &[String]) -> Option<usize> {
    let name = match key {
        KeyName::Lock(lock) => return usize::try_from(*lock).ok(),
        KeyName::Other(name) => name,
    };
    let contained = locks.iter().enumerate();
    let contained = contained.filter(|(_, lock)| !lock.is_empty() && name.contains(lock.as_str()));
    let longest = contained.max_by_key(|(_, lock)| lock.len())?;
    Some(longest.0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::history::KeyCommand;

    const OTHER: &str = "";

    /// A change by an acquisition. An empty value: the key is gone.
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

    fn names(records: &[KeyRecord], lock: usize) -> Vec<String> {
        let locks = locks();
        let keys = lock_keys(records, &locks, lock).into_iter();
        keys.map(|key| key.text(&locks).to_owned()).collect()
    }

    #[test]
    fn a_prefix_belongs_to_the_key_and_a_counter_does_not() {
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
    fn the_key_of_the_locks_own_name_goes_before_others() {
        let records = [
            change("queue:stock:1", "a", Some(9)),
            change(OTHER, "a", None),
        ];
        assert_eq!(names(&records[..1], 0), ["queue:stock:1"]);
        assert_eq!(names(&records, 0), ["stock:1"]);
    }

    #[test]
    fn the_only_key_without_expiry_is_the_locks() {
        assert_eq!(
            names(&[change("lock:stock:1", "a", None)], 0),
            ["lock:stock:1"]
        );
    }

    #[test]
    fn a_name_of_another_kind_is_known_where_there_is_one_lock() {
        let records = [change("5f2a", "a", Some(9))];
        let one = [locks().remove(0)];
        assert_eq!(lock_keys(&records, &one, 0).len(), 1);
        assert_eq!(lock_keys(&records, &locks(), 0).len(), 0);
        let stays = [change("clients", "a", None)];
        assert_eq!(lock_keys(&stays, &one, 0).len(), 0);
    }

    #[test]
    fn only_a_new_value_written_to_acquire_takes() {
        let records = [
            change(OTHER, "a", None),
            // The expiry follows.
            change(OTHER, "a", Some(9)),
            in_phase(Phase::Extend, change(OTHER, "b", Some(9))),
            in_phase(Phase::Release, change(OTHER, "", None)),
            change(OTHER, "a", Some(9)),
            change("stock:1:fence", "1", None),
        ];
        let took: Vec<bool> = (0..records.len())
            .map(|index| takes_lock(&records, index..index + 1, &locks()))
            .collect();
        assert_eq!(took, [true, false, false, false, true, false]);
        assert!(takes_lock(&records, 3..5, &locks()));
        assert!(!takes_lock(&records, 2..2, &locks()));
    }
}

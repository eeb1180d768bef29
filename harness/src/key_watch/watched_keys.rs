//! The known keys of one node, with their values and the changes so far.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use crate::history::{KeyChange, KeyName};
use crate::key_history::{KeyRecord, Locks, is_acquired, lock_keys, lock_of_key, takes_lock};
use crate::model::{HeldValue, Server, Touched, TouchedKeys};

use super::undeclared_keys::UndeclaredKey;
use super::unread_values::{UnreadValues, reads};

/// A known key, with its value when it was last inspected.
struct WatchedKey {
    database: usize,
    bytes: Vec<u8>,
    name: KeyName,
    held: Option<HeldValue>,
    /// Whether an acquisition has written the key.
    acquired: bool,
    /// Whether an acquisition has written the key, and the key has had an expiry or was removed, like the key of a
    /// lock.
    is_lock_value: bool,
    /// The worker whose command last changed the key.
    by: Option<usize>,
    /// The worker whose command wrote the current value.
    author: Option<usize>,
}

/// Maximum number of undeclared keys that are reported.
const MAX_UNDECLARED: usize = 16;

/// The keys that hold locks under names that do not contain the lock's name, such as a hash. Each entry is a lock
/// and the key's name.
pub(crate) type DerivedNames = Vec<(u32, Vec<u8>)>;

/// The keys of one node.
#[derive(Default)]
pub(crate) struct KeyWatch {
    locks: Rc<[String]>,
    /// The lock of each attempt, if there are several locks.
    attempts: BTreeMap<u64, u32>,
    known: Vec<WatchedKey>,
    records: Vec<KeyRecord>,
    /// Whether another key may hold a lock since the last call of [`KeyWatch::new_derived_keys`].
    is_lock_value_new: bool,
    derived: DerivedNames,
    undeclared: Vec<UndeclaredKey>,
    unread: UnreadValues,
    /// The keys of the current inspection; empty between two inspections.
    touched: TouchedKeys,
}

impl WatchedKey {
    /// Returns `true` if the key may hold a lock because of this change. Returns `true` at most once for each key.
    fn becomes_lock_value(&mut self, record: &KeyRecord) -> bool {
        if self.is_lock_value {
            return false;
        }
        self.acquired |= is_acquired(record);
        let is_own = matches!(self.name, KeyName::Lock(_));
        let passes = is_own || record.ttl_ms.is_some() || record.value.is_none();
        self.is_lock_value = self.acquired && passes;
        self.is_lock_value
    }
}

/// The time of an inspection, on the clock of the records and on the node's wall clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InspectionTime {
    pub(crate) at_ns: u64,
    pub(crate) wall_ms: i64,
}

impl KeyWatch {
    /// Creates a watch for a node whose locks have these names.
    pub(crate) fn new(locks: Rc<[String]>) -> Self {
        KeyWatch {
            locks,
            ..KeyWatch::default()
        }
    }

    /// Records the beginning of an attempt to take this lock.
    pub(crate) fn begin_attempt(&mut self, op: u64, lock: u32) {
        if self.locks.len() > 1 {
            self.attempts.insert(op, lock);
        }
    }

    fn with_locks<T>(&self, f: impl FnOnce(Locks<'_>) -> T) -> T {
        let lock_of = |op: u64| usize::try_from(*self.attempts.get(&op)?).ok();
        f(Locks {
            names: &self.locks,
            of_attempt: &lock_of,
        })
    }

    /// Inspects the keys that the server has touched since the last inspection.
    pub(crate) fn inspect(
        &mut self,
        server: &mut Server,
        time: InspectionTime,
        why: impl Fn() -> KeyChange,
    ) {
        let mut touched = std::mem::take(&mut self.touched);
        server.take_touched(&mut touched);
        for key in expired_first(&touched) {
            let index = self.index(key.database, key.key);
            if key.expired {
                self.record_expired(index, time);
            } else {
                self.compare(index, server, time, &why);
            }
        }
        self.touched = touched;
    }

    /// Inspects all known keys, because the server or its data was replaced.
    pub(crate) fn inspect_all(
        &mut self,
        server: &mut Server,
        time: InspectionTime,
        why: &KeyChange,
    ) {
        server.take_touched(&mut self.touched);
        self.touched.clear();
        for index in 0..self.known.len() {
            self.compare(index, server, time, &|| why.clone());
        }
    }

    /// Returns the names of the keys that currently hold this lock: its own key, and keys that it has written under
    /// other names.
    pub(crate) fn keys_of(&self, lock: &str) -> Vec<String> {
        let number = self.locks.iter().position(|known| known == lock);
        let keys = number.map(|number| self.keys_of_lock(number));
        let written =
            |known: &WatchedKey| keys.as_ref().is_some_and(|keys| keys.contains(&known.name));
        let holds = |known: &&WatchedKey| {
            known.database == 0
                && known.held.is_some()
                && (known.bytes == lock.as_bytes() || written(known))
        };
        let keys = self.known.iter().filter(holds);
        keys.map(|known| String::from_utf8_lossy(&known.bytes).into_owned())
            .collect()
    }

    fn keys_of_lock(&self, lock: usize) -> BTreeSet<&KeyName> {
        self.with_locks(|locks| lock_keys(&self.records, locks, lock))
    }

    /// Returns the keys that hold locks under derived names, if they may have changed since the last call.
    pub(crate) fn new_derived_keys(&mut self) -> Option<DerivedNames> {
        if !std::mem::take(&mut self.is_lock_value_new) {
            return None;
        }
        let mut derived = DerivedNames::new();
        for (lock, number) in (0..self.locks.len()).zip(0_u32..) {
            let keys = self.keys_of_lock(lock);
            let known = self.known.iter();
            let held = known.filter(|known| {
                keys.contains(&known.name)
                    && self
                        .with_locks(|locks| locks.named_by(&known.name))
                        .is_none()
            });
            derived.extend(held.map(|known| (number, known.bytes.clone())));
        }
        let is_new = derived != self.derived;
        self.derived = derived;
        is_new.then(|| self.derived.clone())
    }

    /// Returns the lock whose key was affected by one of these changes, or `None` if none was.
    pub(crate) fn lock_changed(&self, changes: Range<usize>) -> Option<u32> {
        let known = &self.records[..changes.end];
        let mut changed = self.records[changes].iter();
        let lock = changed
            .find_map(|record| self.with_locks(|locks| lock_of_key(known, &record.key, locks)))?;
        u32::try_from(lock).ok()
    }

    /// Records the undeclared keys among the changes from position `before` on. A script made these changes, and its
    /// command declared the given keys. Each key is recorded once per command.
    pub(crate) fn record_undeclared<'a>(
        &mut self,
        before: usize,
        declared: impl Iterator<Item = &'a [u8]> + Clone,
    ) {
        for record in &self.records[before..] {
            let KeyChange::Command(by) = &record.why else {
                continue;
            };
            let name = record.key.text(&self.locks);
            let known = |recorded: &UndeclaredKey| recorded.is_of(&by.command, &record.key);
            if !declared.clone().any(|key| key == name.as_bytes())
                && self.undeclared.len() < MAX_UNDECLARED
                && !self.undeclared.iter().any(known)
            {
                let (at_ns, command) = (record.at_ns, Arc::clone(&by.command));
                let undeclared = UndeclaredKey::new(at_ns, command, record.key.clone());
                self.undeclared.push(undeclared);
            }
        }
    }

    /// Records the keys that a command of this worker reads, if it reads any.
    pub(crate) fn record_read<'a>(
        &mut self,
        (worker, command): (usize, &str),
        words: impl Iterator<Item = &'a [u8]>,
    ) {
        if !reads(command) {
            return;
        }
        for word in words.skip(1) {
            if let Some(index) = self.known.iter().position(|known| known.bytes == word) {
                self.unread.record_read(index, worker);
            }
        }
    }

    /// Marks those changes from position `before` on by which the command took another worker's value that is among its
    /// words, although its sender had not read that value. `words` are the words of the command.
    pub(crate) fn mark_unread<'a>(
        &mut self,
        before: usize,
        words: impl Iterator<Item = &'a [u8]> + Clone,
    ) {
        let names = |value: &str| words.clone().any(|word| word == value.as_bytes());
        for index in self.unread.take_named(before, names) {
            if let Some(KeyChange::Command(by)) =
                self.records.get_mut(index).map(|record| &mut record.why)
            {
                by.names_unread_value = true;
            }
        }
    }

    /// Removes and returns the undeclared keys.
    pub(crate) fn take_undeclared(&mut self) -> Vec<UndeclaredKey> {
        std::mem::take(&mut self.undeclared)
    }

    /// Returns the number of changes so far.
    pub(crate) fn changes(&self) -> usize {
        self.records.len()
    }

    /// Returns `true` if one of these changes gave a lock a new owner.
    pub(crate) fn took_lock(&self, changes: Range<usize>) -> bool {
        self.with_locks(|locks| takes_lock(&self.records, changes, locks))
    }

    /// Returns the names of all keys that were seen in the first database.
    pub(crate) fn names(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        let first = self.known.iter().filter(|known| known.database == 0);
        first.map(|known| known.bytes.clone())
    }

    /// Returns `true` if a key with this name may hold a lock: an acquisition has written it, or it contains the name
    /// of a lock.
    pub(crate) fn may_hold_lock(&self, name: &[u8]) -> bool {
        let is_acquired = |known: &WatchedKey| known.acquired && known.bytes == name;
        let contains = |lock: &String| memchr::memmem::find(name, lock.as_bytes()).is_some();
        self.known.iter().any(is_acquired) || self.locks.iter().any(contains)
    }

    /// Returns `true` if the key of some lock is known.
    pub(crate) fn has_lock_value(&self) -> bool {
        self.known.iter().any(|known| known.is_lock_value)
    }

    /// Removes and returns the records, in the order in which they happened.
    ///
    /// Faults fire at whole milliseconds, and a command that the node executes after a fault may have arrived slightly
    /// earlier. In that case the fault's records get the time of the command, because times on a node never decrease.
    pub(crate) fn take(&mut self) -> Vec<KeyRecord> {
        let mut records = std::mem::take(&mut self.records);
        let mut next_ns = u64::MAX;
        for record in records.iter_mut().rev() {
            record.at_ns = record.at_ns.min(next_ns);
            next_ns = record.at_ns;
        }
        records
    }

    fn index(&mut self, database: usize, bytes: &[u8]) -> usize {
        let same = |known: &WatchedKey| known.database == database && known.bytes == bytes;
        self.known.iter().position(same).unwrap_or_else(|| {
            let name = self.name(database, bytes);
            self.known.push(WatchedKey {
                database,
                bytes: bytes.to_vec(),
                name,
                held: None,
                acquired: false,
                is_lock_value: false,
                by: None,
                author: None,
            });
            self.known.len() - 1
        })
    }

    fn name(&self, database: usize, bytes: &[u8]) -> KeyName {
        let lock = self.locks.iter().position(|lock| lock.as_bytes() == bytes);
        match lock.and_then(|lock| u32::try_from(lock).ok()) {
            Some(lock) if database == 0 => KeyName::Lock(lock),
            _ => KeyName::Other(other_name(database, bytes)),
        }
    }

    fn record_expired(&mut self, index: usize, time: InspectionTime) {
        let known = &mut self.known[index];
        if known.held.take().is_some() {
            let record = KeyRecord {
                at_ns: time.at_ns,
                key: known.name.clone(),
                value: None,
                ttl_ms: None,
                why: KeyChange::Expired,
            };
            self.is_lock_value_new |= known.becomes_lock_value(&record);
            self.records.push(record);
        }
    }

    /// Records a change of the key, if there is one.
    fn compare(
        &mut self,
        index: usize,
        server: &Server,
        time: InspectionTime,
        why: &impl Fn() -> KeyChange,
    ) {
        let known = &mut self.known[index];
        let held = server.held_value(known.database, &known.bytes);
        let change = why();
        let by = change.command().map(|command| command.worker);
        // A second client may set the same expiry within the same millisecond, which changes no data.
        let is_by_another_client = || {
            by.is_some()
                && by != known.by
                && held
                    .as_ref()
                    .is_some_and(|value| value.expires_ms.is_some())
        };
        if held == known.held && !is_by_another_client() {
            return;
        }
        known.by = by;
        let is_foreign = by.is_some() && known.author.is_some() && by != known.author;
        if let (Some(by), Some(before)) = (by, known.held.as_ref().filter(|_| is_foreign)) {
            let record = self.records.len();
            self.unread.record_taken(record, (index, by), &before.text);
        }
        if held.as_ref().map(|value| &value.text) != known.held.as_ref().map(|value| &value.text) {
            known.author = by;
            self.unread.forget(index);
        }
        let expires_ms = held.as_ref().and_then(|held| held.expires_ms);
        let record = KeyRecord {
            at_ns: time.at_ns,
            key: known.name.clone(),
            value: held.as_ref().map(|held| Arc::clone(&held.text)),
            ttl_ms: expires_ms.map(|at_ms| at_ms - time.wall_ms),
            why: change,
        };
        self.is_lock_value_new |= known.becomes_lock_value(&record);
        self.records.push(record);
        known.held = held;
    }
}

/// Returns the keys of one inspection in order, but expired keys first: they had disappeared before the command that
/// found them expired, and servers report them first. A key that the same command wrote and then found expired keeps
/// its place.
fn expired_first(touched: &TouchedKeys) -> impl Iterator<Item = Touched<'_>> {
    let had_expired = |number: usize, key: &Touched<'_>| {
        let same = |other: &Touched<'_>| (other.database, other.key) == (key.database, key.key);
        key.expired && !touched.iter().take(number).any(|other| same(&other))
    };
    let keys = move |first: bool| {
        let numbered = touched.iter().enumerate();
        numbered
            .filter_map(move |(number, key)| (had_expired(number, &key) == first).then_some(key))
    };
    keys(true).chain(keys(false))
}

/// Returns the name of a key that is not a lock's, with the number of its database if it is not the first.
fn other_name(database: usize, bytes: &[u8]) -> Arc<str> {
    let name = String::from_utf8_lossy(bytes);
    match database {
        0 => Arc::from(name),
        _ => Arc::from(format!("{name} (database {database})")),
    }
}

#[cfg(test)]
mod tests;

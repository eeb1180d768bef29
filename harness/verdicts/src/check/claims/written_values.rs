//! The values that attempts to take a lock have written to the servers.

use std::collections::BTreeMap;
use std::sync::Arc;

use picklock_scenarios::Phase;

use crate::history::{KeyCommand, KeyName};
use crate::key_history::{Expiry, KeyUpdate, NodeClocks, StoredValue, is_rest, may_be_lock_value};
use crate::timeline::{Attempt, UnderWay, names_token};

/// The values that each active attempt has written.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct WrittenValues {
    attempts: UnderWay<Written>,
    /// The current values of all attempts, by the number of their key.
    current: Vec<Option<AuthoredValue>>,
}

/// A value in a key, and the attempt that wrote it.
#[derive(Debug, Clone)]
struct AuthoredValue {
    worker: usize,
    op: u64,
    value: WrittenValue,
}

/// The values that one attempt has written.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct Written {
    /// In the order of their nodes.
    values: Vec<WrittenValue>,
    /// Whether the attempt also removed another client's value or an element of a collection, such as a token of a
    /// semaphore. Some locks are taken in this way.
    pub(in crate::check) took_away: bool,
    /// The earlier attempt of the same client that wrote the values, or `None` if this attempt wrote them.
    pub(in crate::check) left_by: Option<u64>,
}

/// A value that an attempt has written.
#[derive(Debug, Clone)]
pub(in crate::check) struct WrittenValue {
    pub(in crate::check) node: usize,
    pub(in crate::check) key: KeyName,
    text: Arc<str>,
    /// When it was written.
    pub(in crate::check) written_ns: u64,
    /// The last expiry that the attempt set.
    pub(in crate::check) expiry: Option<Expiry>,
    /// Whether the expiry was set in order to take the lock.
    pub(in crate::check) at_acquisition: bool,
    /// Whether the expiry was set in order to extend the lease.
    pub(in crate::check) at_extension: bool,
    /// How long the script that set the expiry may have run, in milliseconds; 0 if it was not set by a script.
    pub(in crate::check) script_ms: i64,
}

impl WrittenValues {
    pub(in crate::check) fn changed(&mut self, update: &KeyUpdate<'_>) {
        self.record_current(update);
        let Some(command) = update.command() else {
            return;
        };
        let Some(written) = self.attempts.get_mut(command.op) else {
            return;
        };
        let is_own =
            |now: &StoredValue<'_>| now.author.is_some_and(|by| by.shares_attempt(command));
        match update.now {
            None if update.before.is_some() => written.removed(update.node, update.key),
            Some(now) if is_own(now) => {
                written.set(WrittenValue::new(update, now, Some(command.phase)));
            }
            Some(now) => written.took_away |= takes_element(update, now, command),
            None => {}
        }
    }

    fn record_current(&mut self, update: &KeyUpdate<'_>) {
        if self.current.len() <= update.key_number {
            self.current.resize(update.key_number + 1, None);
        }
        self.current[update.key_number] = update.now.and_then(|now| {
            let author = now.author?;
            Some(AuthoredValue {
                worker: author.worker,
                op: author.op,
                value: WrittenValue::new(update, now, None),
            })
        });
    }

    /// Begins an attempt.
    pub(in crate::check) fn begin(&mut self, op: u64) {
        self.attempts.begin(op, Written::default());
    }

    /// Returns the values of this attempt's worker, from any other attempt, that have not expired and are not in
    /// another lock's own key. Returns `None` if there are none.
    pub(in crate::check) fn kept(
        &self,
        attempt: &Attempt,
        at_ns: u64,
        clocks: &NodeClocks,
    ) -> Option<Written> {
        let mut kept = Written::default();
        for current in self.current.iter().flatten() {
            let value = &current.value;
            let expires_at_ns = |expiry| clocks.expires_at_ns(value.node, expiry);
            let lives = (value.expiry).is_none_or(|expiry| expires_at_ns(expiry) > at_ns);
            let is_of_another = value.key.lock().is_some_and(|other| other != attempt.lock);
            let is_earlier = current.worker == attempt.worker && current.op != attempt.op;
            if is_earlier && lives && !is_of_another {
                kept.left_by = Some(current.op);
                kept.set(value.clone());
            }
        }
        (!kept.is_empty()).then_some(kept)
    }

    /// Returns the shortest expiry on each node that extensions of this attempt have set since the last call, in
    /// milliseconds. Longer expiries may belong to other keys.
    pub(in crate::check) fn extended_ms(&mut self, op: u64) -> Vec<(usize, i64)> {
        let mut shortest: Vec<(usize, i64)> = Vec::new();
        let written = self.attempts.get_mut(op);
        for value in written.map_or(&mut [][..], |written| &mut written.values) {
            let is_extended = std::mem::take(&mut value.at_extension);
            let Some(expiry) = value.expiry.filter(|_| is_extended) else {
                continue;
            };
            match shortest.last_mut().filter(|(node, _)| *node == value.node) {
                Some((_, shortest_ms)) => *shortest_ms = expiry.ttl_ms.min(*shortest_ms),
                None => shortest.push((value.node, expiry.ttl_ms)),
            }
        }
        shortest
    }

    /// Returns the values that an attempt has written so far, without the values of tries that were not granted.
    pub(in crate::check) fn by_attempt(&self, attempt: &Attempt) -> Written {
        let mut written = self.attempts.get(attempt.op).cloned().unwrap_or_default();
        let granted = &attempt.written;
        (written.values).retain(|value| granted.is_granted(value.node, &value.key));
        written
    }

    /// Ends an attempt.
    pub(in crate::check) fn forget(&mut self, op: u64) {
        self.attempts.end(op);
    }
}

/// Returns `true` if the command took an element out of a collection while it acquired. The rest of the collection is
/// not the value of this attempt.
fn takes_element(update: &KeyUpdate<'_>, now: &StoredValue<'_>, command: &KeyCommand) -> bool {
    let before = update.before.as_ref();
    command.phase == Phase::Acquire && before.is_some_and(|before| is_rest(before.value, now.value))
}

impl Written {
    /// Returns `true` if the attempt has changed nothing except the expiry of other clients' values.
    pub(in crate::check) fn is_empty(&self) -> bool {
        self.values.is_empty() && !self.took_away
    }

    fn set(&mut self, value: WrittenValue) {
        let same = |other: &&mut WrittenValue| (other.node, &other.key) == (value.node, &value.key);
        match self.values.iter_mut().find(same) {
            Some(known) => *known = value,
            None => {
                let after = |other: &WrittenValue| other.node <= value.node;
                self.values
                    .insert(self.values.partition_point(after), value);
            }
        }
    }

    fn removed(&mut self, node: usize, key: &KeyName) {
        let known = |value: &WrittenValue| (value.node, &value.key) == (node, key);
        match self.values.iter().position(known) {
            Some(index) => {
                self.values.remove(index);
            }
            None => self.took_away = true,
        }
    }

    /// Returns `true` if one of the lock values names this token.
    pub(in crate::check) fn names(&self, token: &str) -> bool {
        let mut values = self.lock_values();
        values.any(|value| names_token(&value.text, token))
    }

    /// Returns the number of nodes on which the attempt has written this key as a lock value.
    pub(in crate::check) fn node_count(&self, key: &KeyName) -> usize {
        self.lock_values().filter(|value| value.key == *key).count()
    }

    /// Returns the lock values: those that expire, or have a lock's name.
    pub(in crate::check) fn lock_values(&self) -> impl Iterator<Item = &WrittenValue> {
        self.values.iter().filter(|value| value.is_lock_value())
    }

    /// Returns `true` if the attempt has written values, but no lock value.
    pub(in crate::check) fn has_no_lock_value(&self) -> bool {
        !self.values.is_empty() && self.lock_values().next().is_none()
    }

    /// Returns the values of each node that has a lock value.
    pub(in crate::check) fn by_node(&self) -> impl Iterator<Item = &[WrittenValue]> {
        let nodes = self.values.chunk_by(|one, other| one.node == other.node);
        nodes.filter(|on_node| on_node.iter().any(WrittenValue::is_lock_value))
    }

    /// Returns when the lock values on each node expire, the latest first. A lock may write other keys besides its lock
    /// key, so the value that lives longest on each node counts.
    pub(in crate::check) fn expiries_ns(&self) -> Vec<u64> {
        let longest = |on_node: &[WrittenValue]| {
            let lock_values = on_node.iter().filter(|value| value.is_lock_value());
            lock_values.map(WrittenValue::expires_at_ns).max()
        };
        let mut expiries_ns: Vec<u64> = self.by_node().filter_map(longest).collect();
        expiries_ns.sort_unstable_by(|one, other| other.cmp(one));
        expiries_ns
    }
}

impl WrittenValue {
    /// Creates the value that the key has now. `phase` is the phase of the command that set its expiry.
    fn new(update: &KeyUpdate<'_>, now: &StoredValue<'_>, phase: Option<Phase>) -> Self {
        WrittenValue {
            node: update.node,
            key: update.key.clone(),
            text: Arc::clone(now.value),
            written_ns: now.written_ns,
            expiry: now.expiry,
            at_acquisition: phase == Some(Phase::Acquire),
            at_extension: phase == Some(Phase::Extend),
            script_ms: update.command().map_or(0, |by| script_ms(by, now.expiry)),
        }
    }

    /// Returns `true` if the value expires, or its key has the name of a lock.
    pub(in crate::check) fn is_lock_value(&self) -> bool {
        may_be_lock_value(&self.key, self.expiry.is_some())
    }

    /// Returns when the written expiry ends.
    fn expires_at_ns(&self) -> u64 {
        self.expiry.map_or(u64::MAX, Expiry::expires_at_ns)
    }
}

/// Returns how long the script that set an expiry may have run, in milliseconds: from the forwarding of its command to
/// the observation of the change.
fn script_ms(by: &KeyCommand, expiry: Option<Expiry>) -> i64 {
    let forwarded_at_ns = by.forwarded_at_ns.filter(|_| by.is_script());
    let ran_ns = (expiry.zip(forwarded_at_ns))
        .map_or(0, |(expiry, from_ns)| expiry.set_ns.saturating_sub(from_ns));
    i64::try_from(ran_ns.div_ceil(1_000_000)).unwrap_or(0)
}

/// For each key of each node, the lock and the attempt that used it first.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct KeyUsers {
    users: BTreeMap<(usize, KeyName), (u32, u64)>,
}

/// A key that two locks use.
#[derive(Debug, Clone)]
pub(in crate::check) struct SharedKey {
    pub(in crate::check) key: KeyName,
    /// The lock that used it first, and its attempt.
    pub(in crate::check) first: (u32, u64),
}

impl KeyUsers {
    /// Records a grant of a lock and the values that its attempt wrote. Returns a key that another lock uses too,
    /// unless the attempt also wrote a key that only this lock uses: all locks may share, for example, a heartbeat key.
    pub(in crate::check) fn granted(
        &mut self,
        lock: u32,
        op: u64,
        written: &Written,
    ) -> Option<SharedKey> {
        let mut shared: Option<SharedKey> = None;
        let mut has_own = false;
        for value in written.lock_values() {
            let place = (value.node, value.key.clone());
            let &mut first = self.users.entry(place).or_insert((lock, op));
            if first.0 == lock {
                has_own = true;
            } else if shared.is_none() {
                shared = Some(SharedKey {
                    key: value.key.clone(),
                    first,
                });
            }
        }
        shared.filter(|_| !has_own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another key of the lock exists on two nodes. On the node where it never expires, it is not a lock value.
    #[test]
    fn other_key_without_expiry_is_not_counted() {
        let key = KeyName::Other("other".into());
        let value = |node, ttl_ms: Option<i64>| WrittenValue {
            node,
            key: key.clone(),
            text: "value".into(),
            written_ns: 0,
            expiry: ttl_ms.map(|ttl_ms| Expiry { set_ns: 0, ttl_ms }),
            at_acquisition: true,
            at_extension: false,
            script_ms: 0,
        };
        let on_nodes = |last| {
            let values = vec![value(0, Some(1_002)), value(1, last)];
            let written = Written {
                values,
                ..Written::default()
            };
            written.node_count(&key)
        };
        assert_eq!(on_nodes(None), 1);
        assert_eq!(on_nodes(Some(1_002)), 2);
    }
}

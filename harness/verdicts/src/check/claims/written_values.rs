//! What the attempts to take a lock have written to the servers.

use std::collections::BTreeMap;

use picklock_scenarios::Phase;

use crate::history::KeyName;
use crate::key_history::{Expiry, Holding, KeyUpdate, NodeClocks, may_be_lock_value};
use crate::timeline::UnderWay;

/// What each attempt that is under way has written.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct WrittenValues {
    attempts: UnderWay<Written>,
    /// The values that are there, of whichever attempt, by place.
    there: Vec<Option<CurrentValue>>,
}

/// A value of a worker.
#[derive(Debug, Clone)]
struct CurrentValue {
    worker: usize,
    op: u64,
    value: WrittenValue,
}

/// What one attempt has written.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct Written {
    /// By node.
    values: Vec<WrittenValue>,
    /// It took something away, too: perhaps that is how it takes the lock.
    pub(in crate::check) took_away: bool,
    /// The values are those of this earlier attempt of its client.
    pub(in crate::check) left_by: Option<u64>,
}

/// One value that an attempt has written.
#[derive(Debug, Clone)]
pub(in crate::check) struct WrittenValue {
    pub(in crate::check) node: usize,
    pub(in crate::check) key: KeyName,
    /// The life that the attempt has given it last.
    pub(in crate::check) expiry: Option<Expiry>,
    /// That expiry was set in order to take the lock.
    pub(in crate::check) at_first: bool,
    /// It was set in order to extend it.
    pub(in crate::check) at_extension: bool,
}

impl WrittenValues {
    pub(in crate::check) fn changed(&mut self, update: &KeyUpdate<'_>) {
        self.note(update);
        let Some(command) = update.command() else {
            return;
        };
        let Some(written) = self.attempts.get_mut(command.op) else {
            return;
        };
        let is_own = |now: &Holding<'_>| now.author.is_some_and(|by| by.shares_attempt(command));
        match update.now {
            None if update.before.is_some() => written.removed(update.node, update.key),
            Some(now) if is_own(now) => {
                written.set(WrittenValue::of(update, now, Some(command.phase)));
            }
            // The expiry of another client's value.
            _ => {}
        }
    }

    fn note(&mut self, update: &KeyUpdate<'_>) {
        if self.there.len() <= update.place {
            self.there.resize(update.place + 1, None);
        }
        self.there[update.place] = update.now.and_then(|now| {
            let author = now.author?;
            Some(CurrentValue {
                worker: author.worker,
                op: author.op,
                value: WrittenValue::of(update, now, None),
            })
        });
    }

    /// An attempt begins.
    pub(in crate::check) fn asked(&mut self, op: u64) {
        self.attempts.begin(op, Written::default());
    }

    /// The values of this worker that may be there, of whichever attempt: those that are not over, in
    /// keys that are not another lock's own. `None`: there is none.
    pub(in crate::check) fn kept(
        &self,
        worker: usize,
        lock: u32,
        at_ns: u64,
        clocks: &NodeClocks,
    ) -> Option<Written> {
        let mut kept = Written::default();
        for current_values in self.there.iter().flatten() {
            let value = &current_values.value;
            let ended_at_ns = |expiry| clocks.ended_at_ns(value.node, expiry);
            let lives = (value.expiry).is_none_or(|expiry| ended_at_ns(expiry) > at_ns);
            let of_another = matches!(value.key, KeyName::Lock(other) if other != lock);
            if current_values.worker == worker && lives && !of_another {
                kept.left_by = Some(current_values.op);
                kept.set(value.clone());
            }
        }
        (!kept.is_empty()).then_some(kept)
    }

    /// The expiries that the extensions of this attempt have given its lock since the last call, in milliseconds: on
    /// each node the shortest, because a lock may write other keys beside its own.
    pub(in crate::check) fn extended_ms(&mut self, op: u64) -> Vec<(usize, i64)> {
        let mut given: Vec<(usize, i64)> = Vec::new();
        let written = self.attempts.get_mut(op);
        for value in written.map_or(&mut [][..], |written| &mut written.values) {
            let extended = std::mem::take(&mut value.at_extension);
            let Some(expiry) = value.expiry.filter(|_| extended) else {
                continue;
            };
            match given.last_mut().filter(|(node, _)| *node == value.node) {
                Some((_, least_ms)) => *least_ms = expiry.ttl_ms.min(*least_ms),
                None => given.push((value.node, expiry.ttl_ms)),
            }
        }
        given
    }

    /// What an attempt has written so far.
    pub(in crate::check) fn of(&self, op: u64) -> Written {
        self.attempts.get(op).cloned().unwrap_or_default()
    }

    /// The attempt is over.
    pub(in crate::check) fn forget(&mut self, op: u64) {
        self.attempts.end(op);
    }
}

impl Written {
    /// True if it has changed nothing, or only the expiry of what others had written.
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

    /// On how many nodes it has written this key as a lock's.
    pub(in crate::check) fn nodes_of(&self, key: &KeyName) -> usize {
        self.lock_values().filter(|value| value.key == *key).count()
    }

    /// The values that are a lock's: they expire, or have its name.
    pub(in crate::check) fn lock_values(&self) -> impl Iterator<Item = &WrittenValue> {
        self.values.iter().filter(|value| value.is_of_a_lock())
    }

    /// True if it has written something, and nothing that is certainly a lock.
    pub(in crate::check) fn is_beside_the_lock(&self) -> bool {
        !self.values.is_empty() && self.lock_values().next().is_none()
    }

    /// The values of a lock, node by node.
    pub(in crate::check) fn by_node(&self) -> impl Iterator<Item = &[WrittenValue]> {
        let nodes = self.values.chunk_by(|one, other| one.node == other.node);
        nodes.filter(|here| here.iter().any(WrittenValue::is_of_a_lock))
    }

    /// When what was written on each node is over, the latest first. A lock may write other keys beside
    /// its own: the one that lives longest counts.
    pub(in crate::check) fn ended_at_ns(&self) -> Vec<u64> {
        let longest = |here: &[WrittenValue]| {
            let of_lock = here.iter().filter(|value| value.is_of_a_lock());
            of_lock.map(WrittenValue::ended_at_ns).max()
        };
        let mut ended_at_ns: Vec<u64> = self.by_node().filter_map(longest).collect();
        ended_at_ns.sort_unstable_by(|one, other| other.cmp(one));
        ended_at_ns
    }
}

impl WrittenValue {
    /// What stands in this key now, and for what its expiry was set.
    fn of(update: &KeyUpdate<'_>, now: &Holding<'_>, phase: Option<Phase>) -> Self {
        WrittenValue {
            node: update.node,
            key: update.key.clone(),
            expiry: now.expiry,
            at_first: phase == Some(Phase::Acquire),
            at_extension: phase == Some(Phase::Extend),
        }
    }

    /// True if it expires, or has the lock's name.
    pub(in crate::check) fn is_of_a_lock(&self) -> bool {
        may_be_lock_value(&self.key, self.expiry.is_some())
    }

    /// When it is over, by what was written.
    fn ended_at_ns(&self) -> u64 {
        self.expiry.map_or(u64::MAX, Expiry::ended_at_ns)
    }
}

/// Which lock used each key of each node first, and in which attempt.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct KeyUsers {
    users: BTreeMap<(usize, KeyName), (u32, u64)>,
}

/// One key that two locks use.
#[derive(Debug, Clone)]
pub(in crate::check) struct SharedKey {
    pub(in crate::check) key: KeyName,
    /// The lock that used it first, and in which attempt.
    pub(in crate::check) first: (u32, u64),
}

impl KeyUsers {
    /// A lock was granted in an attempt that wrote this. A key that another lock uses, too, if there is
    /// none on its node that tells the two locks apart: all locks may write the key of a heartbeat.
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

    /// A key beside the lock, on two nodes, stays for ever on one of them: there it is no lock's.
    #[test]
    fn key_that_stays_for_ever_beside_the_lock_is_not_counted() {
        let key = KeyName::Other("beside".into());
        let value = |node, ttl_ms: Option<i64>| WrittenValue {
            node,
            key: key.clone(),
            expiry: ttl_ms.map(|ttl_ms| Expiry { set_ns: 0, ttl_ms }),
            at_first: true,
            at_extension: false,
        };
        let on_nodes = |last| {
            let values = vec![value(0, Some(1_002)), value(1, last)];
            let written = Written {
                values,
                ..Written::default()
            };
            written.nodes_of(&key)
        };
        assert_eq!(on_nodes(None), 1);
        assert_eq!(on_nodes(Some(1_002)), 2);
    }
}

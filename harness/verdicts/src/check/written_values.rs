//! What the attempts to take a lock have written to the servers.

use picklock_scenarios::Phase;

use crate::custody::{KeyUpdate, NodeClocks};
use crate::history::{KeyCommand, KeyName};
use crate::timeline::{UnderWay, ms};

/// What each attempt that is under way has written.
#[derive(Debug, Clone, Default)]
pub(super) struct WrittenValues {
    attempts: UnderWay<Option<Written>>,
    /// The values that are there, of whichever attempt, by place.
    there: Vec<Option<Standing>>,
}

/// A value of a worker, and its expiry.
#[derive(Debug, Clone)]
struct Standing {
    worker: usize,
    node: usize,
    key: KeyName,
    expiry_set_ns: u64,
    ttl_ms: Option<i64>,
}

/// What one attempt has written.
#[derive(Debug, Clone, Default)]
pub(super) struct Written {
    /// By node.
    values: Vec<WrittenValue>,
    /// It took something away, too: perhaps that is how it takes the lock.
    pub(super) took_away: bool,
}

/// One value that an attempt has written.
#[derive(Debug, Clone)]
pub(super) struct WrittenValue {
    pub(super) node: usize,
    pub(super) key: KeyName,
    pub(super) set_ns: u64,
    /// The expiry that the attempt has given it last.
    pub(super) ttl_ms: Option<i64>,
    /// That expiry was set in order to take the lock.
    pub(super) at_first: bool,
}

impl WrittenValues {
    /// A key was changed.
    pub(super) fn changed(&mut self, at_ns: u64, update: &KeyUpdate<'_>) {
        self.note(update);
        let Some(command) = update.command() else {
            return;
        };
        let Some(holding) = update.now.or(update.before.as_ref()) else {
            return;
        };
        let of = |author: &KeyCommand| (author.worker, author.op) == (command.worker, command.op);
        let own = holding.author.as_ref().is_some_and(of);
        let Some(written) = self.attempts.get_mut(command.op) else {
            return;
        };
        let written = written.get_or_insert_default();
        match update.now {
            None => written.removed(update.node, update.key),
            Some(now) if own => written.set(WrittenValue {
                node: update.node,
                key: update.key.clone(),
                set_ns: at_ns,
                ttl_ms: now.ttl_ms,
                at_first: command.phase == Phase::Acquire,
            }),
            // The expiry of another client's value.
            Some(_) => {}
        }
    }

    fn note(&mut self, update: &KeyUpdate<'_>) {
        if self.there.len() <= update.place {
            self.there.resize(update.place + 1, None);
        }
        self.there[update.place] = update.now.and_then(|now| {
            Some(Standing {
                worker: now.author.as_ref()?.worker,
                node: update.node,
                key: update.key.clone(),
                expiry_set_ns: now.expiry_set_ns,
                ttl_ms: now.ttl_ms,
            })
        });
    }

    /// An attempt begins.
    pub(super) fn asked(&mut self, op: u64) {
        self.attempts.begin(op, None);
    }

    /// The values of this worker that may be there, of whichever attempt: those that are not over, in
    /// keys that are not another lock's own. `None`: there is none.
    pub(super) fn kept(
        &self,
        worker: usize,
        lock: u32,
        at_ns: u64,
        clocks: &NodeClocks,
    ) -> Option<Written> {
        let mut kept = Written::default();
        for standing in self.there.iter().flatten() {
            let lives = standing.ttl_ms.is_none_or(|ttl_ms| {
                let ttl_ns = ms(u64::try_from(ttl_ms).unwrap_or(0));
                clocks.over_ns(standing.node, standing.expiry_set_ns, ttl_ns) > at_ns
            });
            let of_another = matches!(standing.key, KeyName::Lock(other) if other != lock);
            if standing.worker == worker && lives && !of_another {
                kept.set(WrittenValue {
                    node: standing.node,
                    key: standing.key.clone(),
                    set_ns: standing.expiry_set_ns,
                    ttl_ms: standing.ttl_ms,
                    at_first: false,
                });
            }
        }
        (!kept.is_empty()).then_some(kept)
    }

    /// What an attempt has written, taken out to be judged; [`WrittenValues::put_back`] returns it.
    /// `None`: nothing.
    pub(super) fn take(&mut self, op: u64) -> Option<Written> {
        self.attempts.get_mut(op)?.take()
    }

    /// What [`WrittenValues::take`] has given.
    pub(super) fn put_back(&mut self, op: u64, written: Written) {
        if let Some(place) = self.attempts.get_mut(op) {
            *place = Some(written);
        }
    }

    /// The attempt is over.
    pub(super) fn forget(&mut self, op: u64) {
        self.attempts.end(op);
    }
}

impl Written {
    /// True if it has changed nothing, or only the expiry of what others had written.
    pub(super) fn is_empty(&self) -> bool {
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

    /// The values that are a lock's: they expire, or have its name.
    pub(super) fn lock_values(&self) -> impl Iterator<Item = &WrittenValue> {
        self.values.iter().filter(|value| value.is_of_a_lock())
    }

    /// True if it has written something, and nothing that is certainly a lock.
    pub(super) fn is_beside_the_lock(&self) -> bool {
        !self.values.is_empty() && self.lock_values().next().is_none()
    }

    /// The values of a lock, node by node.
    pub(super) fn by_node(&self) -> impl Iterator<Item = &[WrittenValue]> {
        let nodes = self.values.chunk_by(|one, other| one.node == other.node);
        nodes.filter(|here| here.iter().any(WrittenValue::is_of_a_lock))
    }

    /// When what was written on each node is over, the latest first. A lock may write other keys beside
    /// its own: the one that lives longest counts.
    pub(super) fn over_ns(&self) -> Vec<u64> {
        let longest = |here: &[WrittenValue]| {
            let of_lock = here.iter().filter(|value| value.is_of_a_lock());
            of_lock.map(WrittenValue::over_ns).max()
        };
        let mut over_ns: Vec<u64> = self.by_node().filter_map(longest).collect();
        over_ns.sort_unstable_by(|one, other| other.cmp(one));
        over_ns
    }
}

impl WrittenValue {
    /// True if it expires, or has the lock's name.
    pub(super) fn is_of_a_lock(&self) -> bool {
        self.ttl_ms.is_some() || matches!(self.key, KeyName::Lock(_))
    }

    /// When it is over, by what was written.
    fn over_ns(&self) -> u64 {
        self.ttl_ms.map_or(u64::MAX, |ttl_ms| {
            let ttl_ns = ms(u64::try_from(ttl_ms).unwrap_or(0));
            self.set_ns.saturating_add(ttl_ns)
        })
    }
}

//! Which keys store the permits of a semaphore or the holders of a read/write lock, and which permits a value contains.
//!
//! A lock may have several keys. Its permits are in the collection that named the tokens of the most grants when they
//! arrived. If there is such a collection, the other keys do not hold permits, even if they contain tokens: a waiting
//! client may store in another key the token with which it is granted the lock later.
//!
//! A read/write lock may have several keys for its holders: one for the writer and one for the readers, or one for each
//! reader. Its stores are all keys that contained the token of a holder that no other store contained.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use picklock_scenarios::{LockKind, Phase};

use crate::history::{Event, EventKind, KeyChange, KeyName};
use crate::timeline::names_token;

use super::lock_keys::Locks;

/// The keys that store permits.
#[derive(Debug, Default)]
pub(super) struct PermitStores {
    /// The stores, each with its lock.
    pub(super) all: BTreeMap<KeyName, u32>,
    /// The locks that have a store whose elements name their holders.
    named: BTreeSet<u32>,
    /// The locks whose holders are in several keys.
    pub(super) in_several_keys: BTreeSet<u32>,
}

impl PermitStores {
    /// Returns the keys that store permits. For each lock, these are the key with the lock's name, and the key that
    /// contained the tokens of the most grants. If neither exists, the first key that an acquisition wrote counts. For
    /// a read/write lock, each further key that contained the tokens of other holders counts as well.
    pub(super) fn find(events: &[Event], keys: &[String], kind: LockKind) -> PermitStores {
        let mut stores = PermitStores::default();
        for (lock, candidates) in candidates(events, keys, kind) {
            let is_own = |candidate: &Candidate| matches!(candidate.key, KeyName::Lock(_));
            let rank = |candidate: &&Candidate| (candidate.grants, is_own(candidate));
            // If several candidates are equal, the first candidate counts.
            let Some(best) = candidates.iter().rev().max_by_key(rank) else {
                continue;
            };
            let own = candidates.iter().find(|candidate| is_own(candidate));
            let mut of_lock: Vec<&Candidate> = own.into_iter().chain([best]).collect();
            let further = match kind {
                LockKind::Rwlock => further_stores(&candidates, best),
                _ => Vec::new(),
            };
            if !further.is_empty() {
                // A key that never names a holder, such as the number of readers, is next to those that do.
                of_lock.retain(|candidate| !candidate.named.is_empty() || is_own(candidate));
                of_lock.extend(&further);
                stores.in_several_keys.insert(lock);
            }
            if best.names_holders || !further.is_empty() {
                stores.named.insert(lock);
            }
            let keys = of_lock.iter().map(|candidate| candidate.key.clone());
            stores.all.extend(keys.map(|key| (key, lock)));
        }
        stores
    }

    /// Returns the event for a key that does not store permits. If the key's lock has a store that names the holders,
    /// the key is marked as being next to the permits.
    pub(super) fn beside(&self, mut event: Event, locks: Locks<'_>) -> Event {
        if let EventKind::KeyChanged { key, .. } = &mut event.what
            && let KeyName::Other(name) = key
        {
            let name = Arc::clone(name);
            let lock = locks
                .named_by(key)
                .and_then(|lock| u32::try_from(lock).ok());
            if let Some(beside) = lock.filter(|lock| self.named.contains(lock)) {
                *key = KeyName::Beside { beside, name };
            }
        }
        event
    }
}

/// A key that may store permits.
#[derive(Debug)]
struct Candidate {
    key: KeyName,
    /// Number of grants whose token the key contained when they arrived, while it was a collection that names holders.
    grants: u32,
    /// The attempts whose token the key still contained when they were asked to release.
    named: BTreeSet<u64>,
    /// Whether its value has ever been a collection that names holders.
    names_holders: bool,
    /// The current value on each node.
    values: BTreeMap<usize, Arc<str>>,
}

impl Candidate {
    fn names(&self, token: &str) -> bool {
        self.values.values().any(|value| names_token(value, token))
    }
}

/// Returns the keys that contained the token of a holder that no other store contained. The mark of a client that waits
/// is no hold: it goes away when the client has the lock.
fn further_stores<'a>(candidates: &'a [Candidate], best: &Candidate) -> Vec<&'a Candidate> {
    let mut stored = best.named.clone();
    let mut further: Vec<&Candidate> = candidates.iter().collect();
    further.sort_by_key(|candidate| std::cmp::Reverse(candidate.named.len()));
    further.retain(|candidate| {
        let is_new = !candidate.named.is_subset(&stored);
        stored.extend(&candidate.named);
        is_new
    });
    further
}

/// Returns the keys of each lock that contain its name and that an acquisition wrote, in the order of their first
/// values.
fn candidates(events: &[Event], keys: &[String], kind: LockKind) -> BTreeMap<u32, Vec<Candidate>> {
    let locks = Locks::by_name(keys);
    let mut candidates: BTreeMap<u32, Vec<Candidate>> = BTreeMap::new();
    let mut tokens: BTreeMap<u64, &String> = BTreeMap::new();
    for event in events {
        match &event.what {
            EventKind::Granted { token, op, .. } => {
                for candidate in candidates.values_mut().flatten() {
                    let is_named = candidate.names_holders && candidate.names(token);
                    candidate.grants += u32::from(is_named);
                }
                tokens.insert(*op, token);
            }
            EventKind::Release { op, .. } => {
                let token = tokens.remove(op).map_or("", String::as_str);
                for candidate in candidates.values_mut().flatten() {
                    candidate
                        .named
                        .extend(candidate.names(token).then_some(*op));
                }
            }
            _ => {}
        }
        let EventKind::KeyChanged {
            node,
            key,
            value,
            why,
            ..
        } = &event.what
        else {
            continue;
        };
        let Some(lock) = locks
            .named_by(key)
            .and_then(|lock| u32::try_from(lock).ok())
        else {
            continue;
        };
        let of_lock = candidates.entry(lock).or_default();
        let known = of_lock.iter().position(|candidate| candidate.key == *key);
        let is_acquired = matches!(why, KeyChange::Command(by) if by.phase == Phase::Acquire);
        let index = match known {
            Some(index) => index,
            None if is_acquired => {
                of_lock.push(Candidate {
                    key: key.clone(),
                    grants: 0,
                    named: BTreeSet::new(),
                    names_holders: false,
                    values: BTreeMap::new(),
                });
                of_lock.len() - 1
            }
            None => continue,
        };
        let candidate = &mut of_lock[index];
        match value {
            Some(value) => {
                candidate.names_holders |= permits_in(value, kind).is_some();
                candidate.values.insert(*node, Arc::clone(value));
            }
            None => {
                candidate.values.remove(node);
            }
        }
    }
    candidates
}

/// Permits with their values, by the names of their elements.
pub(super) type Permits = BTreeMap<String, Arc<str>>;

/// Returns the value of a key that is no collection as the only hold in it.
pub(super) fn only_hold(value: &str) -> Permits {
    Permits::from([(value.to_owned(), Arc::from(value))])
}

/// Returns the elements of a hash or a sorted set with a number for each of them, or the members of the set of a
/// read/write lock. Returns `None` for any other value.
pub(super) fn permits_in(value: &str, kind: LockKind) -> Option<Permits> {
    let inside = value.strip_prefix('{')?.strip_suffix('}')?;
    let mut permits = Permits::new();
    for element in inside.split(", ") {
        match element.rsplit_once(": ") {
            Some((name, number)) if number.parse::<f64>().is_ok() => {
                permits.insert(name.to_owned(), Arc::from(element));
            }
            None if kind == LockKind::Rwlock => {
                permits.insert(element.to_owned(), Arc::from(element));
            }
            Some(_) if kind == LockKind::Rwlock => {}
            _ => return None,
        }
    }
    (!permits.is_empty()).then_some(permits)
}

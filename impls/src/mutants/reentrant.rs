//! `reentrant`: `set-nx-px` that its holder can take again by counting its holds. It is sound; the mutants with a
//! defective count are derived from it.
//!
//! The outermost acquisition takes the key, and the outermost release deletes it. An inner acquisition or release only
//! checks that the key still exists, so that the count ends with the key.

use std::collections::BTreeMap;
use std::time::Duration;

use redis::Cmd;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::variation::{Variation, Varied};

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "reentrant",
    "re-entrant set-nx-px: the holder's inner acquisitions only count",
    |nodes, context| Box::new(Varied::new(nodes, context, Reentrant::new(Manner::SOUND))),
);

/// Behaviour of an inner acquisition and of its release.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// If true, an inner release leaves the key.
    pub(super) inner_release_counts: bool,
    /// If true, an inner acquisition leaves the lease unchanged.
    pub(super) inner_acquire_counts: bool,
}

impl Manner {
    pub(super) const SOUND: Manner = Manner {
        inner_release_counts: true,
        inner_acquire_counts: true,
    };
}

pub(super) struct Reentrant {
    /// Number of holds and outermost grant, by key.
    held: BTreeMap<String, (u32, Grant)>,
    manner: Manner,
}

impl Reentrant {
    pub(super) fn new(manner: Manner) -> Self {
        Reentrant {
            held: BTreeMap::new(),
            manner,
        }
    }
}

impl Varied<Reentrant> {
    /// Takes the lock again. Returns `None` if the client does not have it, or no longer has it.
    async fn reenter(&mut self, key: &str, ttl: Duration) -> Taken {
        let Varied {
            original,
            variation,
        } = self;
        let Some((count, outer)) = variation.held.get_mut(key) else {
            return Ok(None);
        };
        let is_there = if variation.manner.inner_acquire_counts {
            let value: Option<String> = original.redis.ask(Cmd::get(key)).await?;
            value.as_deref() == Some(&outer.token)
        } else {
            Lock::extend(original, key, outer, ttl).await?.is_some()
        };
        if !is_there {
            variation.held.remove(key);
            return Ok(None);
        }
        *count += 1;
        let token = format!("{}#{count}", outer.token);
        let outer = outer.clone();
        Ok(Some(Grant { token, ..outer }))
    }
}

impl Variation for Reentrant {
    const IS_REENTRANT: bool = true;

    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        if let Some(inner) = lock.reenter(key, ttl).await? {
            return Ok(Some(inner));
        }
        let granted = Lock::acquire(&mut lock.original, key, ttl, wait).await?;
        if let Some(grant) = &granted {
            lock.variation
                .held
                .insert(key.to_owned(), (1, grant.clone()));
        }
        Ok(granted)
    }

    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let Some((count, outer)) = lock.variation.held.get_mut(key) else {
            return Lock::release(&mut lock.original, key, grant).await;
        };
        *count -= 1;
        let (is_inner, outer) = (*count > 0, outer.clone());
        if !is_inner {
            lock.variation.held.remove(key);
        }
        if is_inner && lock.variation.manner.inner_release_counts {
            Ok(true)
        } else {
            Lock::release(&mut lock.original, key, &outer).await
        }
    }
}

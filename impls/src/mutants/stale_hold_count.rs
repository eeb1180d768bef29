//! `stale-hold-count`: a re-entrant `set-nx-px` whose count of holds survives the loss of the lock.
//!
//! A client that has the lock already only counts. A release that finds the lock lost, or gets no
//! answer, leaves the count as it was, so every later acquisition of this client is granted without
//! asking Redis (redisson#7367, #4178: S11). Caught by `exclusion`, cause `unbacked-grant`, when a holder
//! loses its lock before it releases it, and asks again.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::delegating_lock::DelegatingLock;
use crate::lease::Lease;
use crate::locks::set_nx_px::SetNxPx;
use crate::stopwatch::Deadline;

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "stale-hold-count",
    "mutant: re-entrant set-nx-px that goes on counting after it lost the lock",
    |nodes, context| {
        Box::new(StaleHoldCount {
            lock: SetNxPx::new(nodes, context),
            held: BTreeMap::new(),
        })
    },
);

struct StaleHoldCount {
    lock: SetNxPx,
    /// By key: how often this client has it, and the grant.
    held: BTreeMap<String, (u32, Grant)>,
}

impl DelegatingLock for StaleHoldCount {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.lock
    }

    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        if let Some((count, grant)) = self.held.get_mut(key) {
            *count += 1;
            return Ok(Some(Grant {
                valid_until: Some(Deadline::after(Lease::new(ttl)?.duration())),
                ..grant.clone()
            }));
        }
        let granted = Lock::acquire(&mut self.lock, key, ttl, wait).await?;
        if let Some(grant) = &granted {
            self.held.insert(key.to_owned(), (1, grant.clone()));
        }
        Ok(granted)
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        if let Some((count, _)) = self.held.get_mut(key)
            && *count > 1
        {
            *count -= 1;
            return Ok(true);
        }
        let released = Lock::release(&mut self.lock, key, grant).await?;
        // Here it is forgotten that a lost lock is not held either.
        if released {
            self.held.remove(key);
        }
        Ok(released)
    }
}

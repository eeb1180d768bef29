//! `replicated`: `set-nx-px` whose grant counts only once replicas have it too.
//!
//! **Commands.** Acquire: `SET key token NX PX ms`, and if that took the key, `WAIT replicas
//! timeout`. If fewer replicas than requested acknowledge in time, `compare_and_delete.lua` gives
//! the key back, and the attempt counts as refused. Extend: `compare_and_pexpire.lua` and `WAIT`.
//! Release: `compare_and_delete.lua`, without waiting.
//!
//! **From.** redis.io, the page of `WAIT`: "WAIT does not make Redis a strongly consistent store
//! […] In the context of Sentinel or Redis Cluster failover, WAIT improves the real world data
//! safety"; Redisson waits for its replicas in the same way.
//!
//! **Promises.** The same as `set-nx-px`. The lock also survives a failover to a replica that acknowledged. It needs at
//! least one replica for each node, and by default waits for one.
//!
//! **Does not survive.**
//! - Failover to a replica that did not acknowledge: one of two answered, the other was promoted
//!   (S7). Only waiting for all of them helps, and then one lost replica blocks all clients.
//! - A connection that breaks between `SET` and `WAIT`: `WAIT` covers only the writes of its own connection, and a new
//!   connection has none (S7).
//! - A failover after a release that had not been replicated: no client gets the lock until its
//!   lease has expired.
//! - A holder that is slower than its lease (S1), or that gets its grant too late (S5).
//! - Loss of the key on all servers: restart, a clock jump, eviction (S8 to S10).

use std::time::Duration;

use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::lease_duration::LeaseDuration;
use crate::locks::set_nx_px::{SetNxPx, set_nx_px};
use crate::options::{OptionKind, OptionSpec, OptionValue};
use crate::patience::{RETRY_DELAY, RETRY_JITTER};
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied};
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "replicated",
    summary: "set-nx-px that WAITs for replicas, and gives the key back if too few have it",
    nodes: 1,
    replicas: 1,
    kind: Kind::Mutex,
    options: &[&RETRY_DELAY, &RETRY_JITTER, &REPLICAS, &WAIT_TIMEOUT],
    build: |nodes, context| Box::new(Varied::new(nodes, context, Replicated)),
};

const REPLICAS: OptionSpec = OptionSpec {
    name: "replicas",
    meaning: "number of replicas that must acknowledge before a grant counts",
    kind: OptionKind::Whole(0, 8),
    default: OptionValue::Whole(1),
};

/// `WAIT` treats 0 as "for ever", so the minimum is one millisecond.
const WAIT_TIMEOUT: OptionSpec = OptionSpec {
    name: "wait_timeout",
    meaning: "maximum time of WAIT, in whole milliseconds",
    kind: OptionKind::Duration { zero: false },
    default: OptionValue::Duration(LeaseDuration::Ttl(0.1)),
};

struct Replicated;

/// The replicas' acknowledgements.
struct Acknowledged {
    by: u64,
    wanted: u64,
}

impl Acknowledged {
    fn is_enough(&self) -> bool {
        self.by >= self.wanted
    }
}

/// Waits until replicas acknowledge the writes of this connection.
async fn acknowledged(lock: &mut SetNxPx, ttl: Duration) -> Result<Acknowledged, LockError> {
    let options = &lock.context.options;
    let wanted = options.whole(&REPLICAS);
    let timeout_ms = options.duration(&WAIT_TIMEOUT, ttl).as_millis().max(1);
    let mut wait = redis::cmd("WAIT");
    wait.arg(wanted).arg(timeout_ms.to_string());
    // The key has been written, so no failure from here on is definite.
    let by = lock.redis.ask(wait).await.map_err(in_doubt)?;
    Ok(Acknowledged { by, wanted })
}

fn in_doubt(error: LockError) -> LockError {
    LockError::Ambiguous(error.to_string())
}

impl Variation for Replicated {
    /// Creates a new name for each attempt, because an earlier attempt may have left its key behind.
    fn name(_lock: &mut Varied<Self>) -> String {
        String::new()
    }

    async fn attempt(lock: &mut Varied<Self>, key: &str, _name: &str, lease: Lease) -> Taken {
        let lock = &mut lock.original;
        let token = lock.context.token();
        let requested = Stopwatch::start();
        let taken: bool = lock.redis.ask(set_nx_px(key, &token, lease)).await?;
        if !taken {
            return Ok(None);
        }
        let enough = acknowledged(lock, lease.duration()).await?.is_enough();
        let grant = lease.grant(token, requested);
        if !enough {
            Lock::release(lock, key, &grant).await.map_err(in_doubt)?;
        }
        Ok(enough.then_some(grant))
    }

    async fn extend(lock: &mut Varied<Self>, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        let lock = &mut lock.original;
        let lease = Lease::new(ttl)?;
        let requested = Stopwatch::start();
        if Lock::extend(lock, key, grant, ttl).await?.is_none() {
            return Ok(None);
        }
        let said = acknowledged(lock, ttl).await?;
        if !said.is_enough() {
            // The client still has the lock, but for how long depends on which server becomes the master.
            return Err(LockError::Ambiguous(format!(
                "{} of {} replicas have the extension",
                said.by, said.wanted
            )));
        }
        Ok(Some(lease.extended(grant, requested)))
    }
}

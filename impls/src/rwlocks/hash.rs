//! `rwlock-hash`: the mode and the holders in one hash with one expiry.
//!
//! **Commands.** Acquire: `take_hash.lua` (`HGET key mode`, `HSET`, `HINCRBY key token 1`, `PEXPIRE key ttl`). Release:
//! `release_hash.lua` (`HDEL key token`; `DEL key` if only the mode is left, and otherwise `HSET key mode read`).
//!
//! **From.** The hash of Redisson's `RReadWriteLock`, without what was added to it after reports (redisson#2144,
//! #7098): the expiry of the key is the lease of the last reader, and one script releases readers and writers.
//!
//! **Promises.** No writer together with another client, as long as all leases are equally long, and no release is
//! late.
//!
//! **Does not survive.**
//! - A reader with a shorter lease than the others: it shortens their leases (S6).
//! - A release that arrives when its lease is over and a writer holds the lock: it turns the writer into a reader (S2).
//! - A reader that dies while other readers come and go: they keep its hold alive (L12).
//! - Readers that never leave a gap: no writer gets the lock.
//! - Loss of the key: failover, restart, a jump of the server's clock, eviction (S7 to S10).

use std::sync::LazyLock;
use std::time::Duration;

use redis::Script;

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::single_node::SingleNode;
use crate::stopwatch::Stopwatch;
use crate::{BuiltInLock, Context, Kind, patience};

/// Grants the lock to a reader or a writer.
static TAKE_HASH: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("take_hash.lua")));

/// Releases the hold of a client.
static RELEASE_HASH: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("release_hash.lua")));

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "rwlock-hash",
    summary: "read/write lock: mode and holders in a hash, whose expiry is the last one requested",
    nodes: 1,
    replicas: 0,
    kind: Kind::ReadWrite,
    options: patience::RETRY,
    build: |nodes, context| {
        Box::new(ReadWriteHash {
            redis: SingleNode::first_of(nodes),
            context,
            mode: "write",
        })
    },
};

struct ReadWriteHash {
    redis: SingleNode,
    context: Context,
    /// The mode of the current attempt.
    mode: &'static str,
}

impl Attempts for ReadWriteHash {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    async fn attempt(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let taken: bool = TAKE_HASH
            .key(key)
            .arg(name)
            .arg(lease.millis())
            .arg(self.mode)
            .invoke_async(self.redis.connection()?)
            .await?;
        Ok(taken.then(|| lease.grant(name, requested)))
    }
}

impl Lock for ReadWriteHash {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        self.mode = "write";
        attempts::acquire(self, key, ttl, wait).await
    }

    async fn acquire_shared(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        self.mode = "read";
        attempts::acquire(self, key, ttl, wait).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let mut release = RELEASE_HASH.key(key);
        release.arg(&grant.token);
        Ok(release.invoke_async(self.redis.connection()?).await?)
    }

    fn kind(&self) -> Kind {
        Kind::ReadWrite
    }
}

//! `set-nx-px`: the correct single-node lock.
//!
//! **Commands.** Acquire: `SET key token NX PX ms`. Extend: `compare_and_pexpire.lua`. Release:
//! `compare_and_delete.lua`. Scripts are sent as `EVALSHA`. If the server does not have them (`NOSCRIPT`), `SCRIPT
//! LOAD` follows, and `EVALSHA` again.
//!
//! **From.** redis.io, "Distributed Locks with Redis", "Correct Implementation with a Single
//! Instance".
//!
//! **Promises.** One holder at a time while Redis keeps the key and no client outlives its lease.
//! Only the holder releases and extends. Extending never re-creates a lost lock.
//!
//! **Does not survive.**
//! - A holder that is slower than its lease (S1). The grant contains its validity, but the lock itself does not check
//!   it: a grant whose reply arrives after the lease has expired is passed on (S5, Kleppmann's K1 and K4).
//! - Loss of the key: failover, restart, a jump of the server's clock, eviction (S7 to S10).

use std::sync::LazyLock;
use std::time::Duration;

use redis::{Cmd, Script};

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::single_node::SingleNode;
use crate::stopwatch::{Deadline, Stopwatch};
use crate::{BuiltInLock, Context, Node};

/// Deletes the key if it holds the token.
pub(crate) static COMPARE_AND_DELETE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("compare_and_delete.lua")));

/// Gives the key a new time to live if it holds the token.
pub(crate) static COMPARE_AND_PEXPIRE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("compare_and_pexpire.lua")));

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "set-nx-px",
    "SET NX PX with a random token; compare-and-delete in Lua",
    |nodes, context| Box::new(SetNxPx::new(nodes, context)),
);

/// Returns the command that takes a free lock.
pub(crate) fn set_nx_px(key: &str, token: &str, lease: Lease) -> Cmd {
    let mut set = Cmd::with_capacity(6, 32 + key.len() + token.len());
    set.arg("SET").arg(key).arg(token);
    set.arg("NX").arg("PX").arg(lease.millis());
    set
}

pub(crate) struct SetNxPx {
    pub(crate) redis: SingleNode,
    pub(crate) context: Context,
}

/// Extends one lease as often as needed.
pub(crate) struct Extension {
    redis: SingleNode,
    key: String,
    token: String,
    lease: Lease,
}

impl Extension {
    /// Extends the lease. Returns the new end of its validity, or `None` if the client no longer had the lock.
    pub(crate) async fn ask(&mut self) -> Result<Option<Deadline>, LockError> {
        let requested = Stopwatch::start();
        let extended: bool = COMPARE_AND_PEXPIRE
            .key(&self.key)
            .arg(&self.token)
            .arg(self.lease.millis())
            .invoke_async(self.redis.connection()?)
            .await?;
        Ok(extended.then(|| self.lease.until(requested)))
    }
}

impl SetNxPx {
    pub(crate) fn new(nodes: Vec<Node>, context: Context) -> Self {
        SetNxPx {
            redis: SingleNode::first_of(nodes),
            context,
        }
    }

    /// Returns the extension of a lease for a background task, on a separate connection.
    pub(crate) fn extension(&self, key: &str, token: &str, lease: Lease) -> Extension {
        Extension {
            redis: self.redis.separate(),
            key: key.to_owned(),
            token: token.to_owned(),
            lease,
        }
    }
}

impl Attempts for SetNxPx {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    async fn attempt(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let taken: bool = self.redis.ask(set_nx_px(key, name, lease)).await?;
        Ok(taken.then(|| lease.grant(name, requested)))
    }
}

impl Lock for SetNxPx {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        attempts::acquire(self, key, ttl, wait).await
    }

    async fn extend(&mut self, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let requested = Stopwatch::start();
        let extended = COMPARE_AND_PEXPIRE
            .key(key)
            .arg(&grant.token)
            .arg(lease.millis())
            .invoke_async::<bool>(self.redis.connection()?)
            .await?;
        Ok(extended.then(|| lease.extended(grant, requested)))
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let deleted: bool = COMPARE_AND_DELETE
            .key(key)
            .arg(&grant.token)
            .invoke_async(self.redis.connection()?)
            .await?;
        Ok(deleted)
    }
}

//! `resuming`: a client that finds its own name in the key has the lock.
//!
//! **Commands.** Acquire: `SET key name NX PX ms`. If the key is taken: `GET key`, and if the key
//! contains this client's name, the lock counts as acquired. Release: a script that compares and
//! deletes.
//!
//! **From.** Locks in which an attempt whose reply was lost can be repeated without harm, and locks
//! that count holds by client; redisson#7367.
//!
//! **Promises.** After a lost reply the client gets its lock at once, without waiting for a lease.
//!
//! **Does not survive.**
//! - A lost reply before long work: the client counts its lease from the second attempt, but the
//!   key's lease began with the first (S11).
//! - A holder that is slower than its lease (S1); loss of the key (S7 to S10).

use std::time::Duration;

use rand::RngExt;
use redis::{Cmd, Script};

use crate::{Context, Grant, Lock, LockError, Node, Strategy};

pub(crate) const STRATEGY: Strategy = Strategy {
    name: "resuming",
    summary: "SET NX PX with the client's name; a client that finds its own name has the lock",
    nodes: 1,
    replicas: 0,
    options: &[],
    build: |nodes, context| Box::new(Resuming::new(nodes, context)),
};

const COMPARE_AND_DELETE: &str =
    "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0";

const RETRY: Duration = Duration::from_millis(20);

struct Resuming {
    redis: Node,
    /// The same for all acquisitions: that is the idea of this lock.
    name: String,
    release: Script,
}

impl Resuming {
    fn new(nodes: Vec<Node>, mut context: Context) -> Self {
        Resuming {
            redis: nodes.into_iter().next().expect("one node was asked for"),
            name: format!("{:032x}", context.entropy.random::<u128>()),
            release: Script::new(COMPARE_AND_DELETE),
        }
    }

    async fn attempt(&mut self, key: &str, ttl: Duration) -> Result<bool, LockError> {
        let mut set = redis::cmd("SET");
        set.arg(key).arg(&self.name).arg("NX");
        set.arg("PX")
            .arg(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
        if set.query_async(&mut self.redis).await? {
            return Ok(true);
        }
        let holder: Option<String> = Cmd::get(key).query_async(&mut self.redis).await?;
        Ok(holder.as_ref() == Some(&self.name))
    }
}

impl Lock for Resuming {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let attempts = async {
            while !self.attempt(key, ttl).await? {
                tokio::time::sleep(RETRY).await;
            }
            Ok(Some(Grant {
                token: self.name.clone(),
                fence: None,
                valid_for: None,
            }))
        };
        tokio::time::timeout(wait, attempts)
            .await
            .unwrap_or(Ok(None))
    }

    async fn extend(
        &mut self,
        _: &str,
        _: &Grant,
        _: Duration,
    ) -> Result<Option<Grant>, LockError> {
        Err(LockError::BadCall("this lock cannot be extended".into()))
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let mut delete = self.release.key(key);
        delete.arg(&grant.token);
        Ok(delete.invoke_async(&mut self.redis).await?)
    }
}

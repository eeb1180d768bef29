//! `no-expiry`: `SET key token NX` without a TTL.
//!
//! A holder that dies keeps the lock for ever (L1). Caught by `progress`, cause `no-ttl`, when a
//! holder crashes. The release is correct, so that nothing else is wrong with it.

use std::time::Duration;

use redis::{ExistenceCheck, SetOptions};

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, Taken};
use crate::delegating_lock::DelegatingLock;
use crate::lease::Lease;
use crate::locks::set_nx_px::SetNxPx;
use crate::{BuiltInLock, Context};

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "no-expiry",
    "mutant: SET NX without a TTL; a dead holder keeps the lock",
    |nodes, context| Box::new(NoExpiry(SetNxPx::new(nodes, context))),
);

struct NoExpiry(SetNxPx);

impl Attempts for NoExpiry {
    fn context(&mut self) -> &mut Context {
        &mut self.0.context
    }

    async fn attempt(&mut self, key: &str, name: &str, _lease: Lease) -> Taken {
        let options = SetOptions::default().conditional_set(ExistenceCheck::NX);
        let command = redis::Cmd::set_options(key, name, options);
        let taken: bool = self.0.redis.ask(command).await?;
        Ok(taken.then(|| Grant {
            token: name.to_owned(),
            fence: None,
            // The lock is held until it is released, so there is no limit.
            valid_until: None,
        }))
    }
}

impl DelegatingLock for NoExpiry {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.0
    }

    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        attempts::acquire(self, key, ttl, wait).await
    }

    /// There is nothing to extend, so nothing is sent.
    async fn extend(&mut self, _key: &str, grant: &Grant, ttl: Duration) -> Taken {
        Lease::new(ttl)?;
        Ok(Some(grant.clone()))
    }
}

//! `phantom-extend`: a watchdog that renews by writing its key anew, whatever is there.
//!
//! Nothing is looked at, neither its own lease nor whose the key is: a client that was frozen for
//! longer than its lease makes the lock its own again, and tells its holder that all is well (S3).
//! To be caught by `lease`, cause `phantom-extend`, when a holder freezes with work left to do.

use std::time::Duration;

use redis::{Cmd, SetExpiry, SetOptions};

use crate::contract::{Grant, Lock, LockError, Notice};
use crate::lease::Lease;
use crate::renewal::Habits;
use crate::strategies::watchdog::{OPTIONS, Watchdog};
use crate::{Context, Node, Strategy};

pub(crate) const STRATEGY: Strategy = Strategy {
    name: "phantom-extend",
    summary: "mutant: a watchdog whose renewal writes the key anew, lost or not",
    nodes: 1,
    replicas: 0,
    options: OPTIONS,
    build: |nodes, context| Box::new(PhantomExtend::new(nodes, context)),
};

struct PhantomExtend(Watchdog);

impl PhantomExtend {
    fn new(nodes: Vec<Node>, context: Context) -> Self {
        let habits = Habits {
            minds_the_lease: false,
            ..Habits::SOUND
        };
        PhantomExtend(Watchdog::new(nodes, context, habits))
    }

    fn write_anew(key: &str, grant: &Grant, lease: Lease) -> Cmd {
        let options = SetOptions::default().with_expiration(SetExpiry::PX(lease.millis()));
        Cmd::set_options(key, &grant.token, options)
    }
}

impl Lock for PhantomExtend {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let lease = Lease::new(ttl)?;
        let lock = &mut self.0.lock;
        let grant = Lock::acquire(lock, key, ttl, wait).await?;
        if let Some(grant) = &grant {
            let mut redis = lock.redis.apart();
            let command = Self::write_anew(key, grant, lease);
            let renew = async move || {
                redis.ask::<()>(command.clone()).await?;
                Ok(Some(lease.duration()))
            };
            self.0.renewals.begin(&lock.context, grant, ttl, renew);
        }
        Ok(grant)
    }

    async fn extend(
        &mut self,
        key: &str,
        grant: &Grant,
        ttl: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let lease = Lease::new(ttl)?;
        let command = Self::write_anew(key, grant, lease);
        self.0.lock.redis.ask::<()>(command).await?;
        Ok(Some(Grant {
            valid_for: Some(lease.duration()),
            ..grant.clone()
        }))
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        Lock::release(&mut self.0, key, grant).await
    }

    async fn notice(&mut self) -> Notice {
        Lock::notice(&mut self.0).await
    }
}

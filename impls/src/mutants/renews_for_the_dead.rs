//! `renews-for-the-dead`: `set-nx-px` whose renewal is a task of the process, which nothing but a release ends.
//!
//! The thread that has the lock dies, its process lives, and the lock is renewed for as long as that does (L2:
//! madelson/DistributedLock#169). Caught by `progress` when a client ends and its process goes on.

use std::time::Duration;

use tokio::task::JoinHandle;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::delegating_lock::DelegatingLock;
use crate::lease::Lease;
use crate::locks::set_nx_px::SetNxPx;

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "renews-for-the-dead",
    "mutant: set-nx-px that is renewed for as long as the process of its holder lives",
    |nodes, context| {
        Box::new(RenewsForTheDead {
            lock: SetNxPx::new(nodes, context),
            renewal: None,
        })
    },
);

struct RenewsForTheDead {
    lock: SetNxPx,
    /// Dropping it does not end the task.
    renewal: Option<JoinHandle<()>>,
}

impl DelegatingLock for RenewsForTheDead {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.lock
    }

    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let granted = Lock::acquire(&mut self.lock, key, ttl, wait).await?;
        if let Some(grant) = &granted {
            let mut extension = self.lock.extension(key, &grant.token, Lease::new(ttl)?);
            self.renewal = Some(tokio::task::spawn_local(async move {
                loop {
                    tokio::time::sleep(ttl / 3).await;
                    // Whatever the answer is.
                    extension.ask().await.ok();
                }
            }));
        }
        Ok(granted)
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        if let Some(renewal) = self.renewal.take() {
            renewal.abort();
        }
        Lock::release(&mut self.lock, key, grant).await
    }
}

//! `watchdog`: `set-nx-px` whose lease is renewed in the background while the holder works.
//!
//! **Commands.** The same as `set-nx-px`. After the grant, a background task sends `compare_and_pexpire.lua` with the
//! lease time of the acquisition whenever `renew_every` (half the lease) has passed since the last renewal. If that
//! fails, it retries after `retry_delay`, for as long as the lease runs. Each renewal is reported. If the client no
//! longer has the key, or the lease expires before a renewal succeeds, the task reports the loss and sends nothing
//! more. The task has its own connection, and ends before the release is sent, and with the client. If the process is
//! asked to end (SIGTERM), it releases what it holds.
//!
//! **From.** Redisson's lock watchdog, RedLock.net's keep-alive timer, madelson's
//! DistributedLock, python-redis-lock's `auto_renewal`.
//!
//! **Promises.** The same as `set-nx-px`. A holder that is alive and can reach Redis also keeps the lock for as long as
//! it works, while a dead one loses it within a lease. A lost lock is never re-created (S3), no renewal outlives the
//! unlock (L2), and a loss is reported (S2).
//!
//! **Does not survive.**
//! - A client that is frozen as a whole for longer than the lease: its watchdog freezes too (S1,
//!   S2).
//! - A holder that is alive but hangs: it keeps the lock for ever.
//! - Loss of the key: failover, restart, a jump of the server's clock, eviction (S7 to S10). The
//!   next renewal notices, up to `renew_every` later.

use crate::contract::{Grant, LockError};
use crate::lease::Lease;
use crate::locks::set_nx_px::SetNxPx;
use crate::options::{OptionSpec, Options};
use crate::patience::{RETRY_DELAY, RETRY_JITTER};
use crate::renewal::{RENEW_EVERY, RenewalRules};
use crate::renewing::{Renewable, Renewing};
use crate::stopwatch::Deadline;
use crate::{BuiltInLock, Context, Kind, Node};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "watchdog",
    summary: "set-nx-px, renewed at half the lease by a background task",
    nodes: 1,
    replicas: 0,
    kind: Kind::Mutex,
    options: OPTIONS,
    build: |nodes, context| Box::new(watchdog(nodes, context, RenewalRules::SOUND)),
};

/// The options of a lock with a watchdog.
pub(crate) const OPTIONS: &[&OptionSpec] = &[&RETRY_DELAY, &RETRY_JITTER, &RENEW_EVERY];

pub(crate) fn watchdog(
    nodes: Vec<Node>,
    context: Context,
    rules: RenewalRules,
) -> Renewing<SetNxPx> {
    Renewing::new(SetNxPx::new(nodes, context), rules)
}

impl Renewable for SetNxPx {
    fn options(&self) -> &Options {
        &self.context.options
    }

    fn renewal(
        &self,
        key: &str,
        grant: &Grant,
        lease: Lease,
    ) -> impl AsyncFnMut() -> Result<Option<Deadline>, LockError> + 'static {
        let mut extension = self.extension(key, &grant.token, lease);
        async move || extension.ask().await
    }
}

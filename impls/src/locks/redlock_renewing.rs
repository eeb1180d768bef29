//! `redlock-renewing`: redlock whose lease is renewed in the background on all nodes.
//!
//! **Commands.** The same as `redlock`. After the grant, a background task sends `compare_and_pexpire.lua` to all nodes
//! whenever `renew_every` (half the lease) has passed since the last renewal. A renewal succeeds if more than half
//! extended and there is validity left. If too few answer, it is retried after `retry_delay`, for as long as the lease
//! runs. If a majority answers that the client does not have the key, or the validity runs out before a renewal
//! succeeds, the task reports the loss and sends nothing more; it deletes nothing either (L7). The task has its own
//! connections, and ends before the release is sent, and with the client.
//!
//! **From.** redis.io, "Distributed Locks with Redis", "Making the algorithm more reliable:
//! Extending the lock"; the `using` of node-redlock, with its abort signal.
//!
//! **Promises.** The same as `redlock`. A holder that is alive and reaches a majority also keeps the lock for as long
//! as it works, and gets a report if it cannot. The page asks for a limit on the number of renewals, so that the lock
//! becomes free eventually. This lock has no such limit.
//!
//! **Does not survive.**
//! - A client that is frozen as a whole for longer than its validity (S1, S2).
//! - A holder that is alive but hangs: it keeps the lock for ever.
//! - A bare majority of which one node cannot be reached: the remaining nodes are too few to extend.
//! - A node of a bare majority that loses the key (S7, S8, S10), or loses it early (S9, K3).

use crate::contract::{Grant, LockError};
use crate::lease::Lease;
use crate::locks::redlock::{DRIFT_FACTOR, NODE_TIMEOUT, Redlock, Rules};
use crate::options::{OptionSpec, Options};
use crate::patience::{RETRY_DELAY, RETRY_JITTER};
use crate::renewal::{RENEW_EVERY, RenewalRules};
use crate::renewing::{Renewable, Renewing};
use crate::stopwatch::Deadline;
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "redlock-renewing",
    summary: "redlock, renewed at half the lease by a background task; reports its loss",
    nodes: 5,
    replicas: 0,
    kind: Kind::Mutex,
    options: OPTIONS,
    build: |nodes, context| {
        let redlock = Redlock::new(nodes, context, Rules::PUBLISHED);
        Box::new(Renewing::new(redlock, RenewalRules::SOUND))
    },
};

const OPTIONS: &[&OptionSpec] = &[
    &RETRY_DELAY,
    &RETRY_JITTER,
    &DRIFT_FACTOR,
    &NODE_TIMEOUT,
    &RENEW_EVERY,
];

impl Renewable for Redlock {
    fn options(&self) -> &Options {
        &self.context.options
    }

    fn renewal(
        &self,
        key: &str,
        grant: &Grant,
        lease: Lease,
    ) -> impl AsyncFnMut() -> Result<Option<Deadline>, LockError> + 'static {
        let terms = self.terms(lease);
        let mut nodes = self.separate_nodes();
        let (key, token) = (key.to_owned(), grant.token.clone());
        async move || terms.extend(&mut nodes, &key, &token).await
    }
}

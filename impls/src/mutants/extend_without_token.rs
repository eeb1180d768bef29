//! `extend-without-token`: `set-nx-px` whose extension is a plain `PEXPIRE`.
//!
//! A late holder extends its successor's lock and is told that it is its own (S4: Redisson's MultiLock
//! extends without looking at the owner). Caught by `lease`, cause `phantom-extend`, when a holder
//! freezes between two extensions and its successor is inside when it wakes.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, LockError};
use crate::delegating_lock::DelegatingLock;
use crate::lease::Lease;
use crate::locks::set_nx_px::SetNxPx;
use crate::patience::RETRY;
use crate::stopwatch::Stopwatch;

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "extend-without-token",
    summary: "mutant: set-nx-px whose extension extends any lock that it finds",
    nodes: 1,
    replicas: 0,
    options: RETRY,
    build: |nodes, context| Box::new(ExtendWithoutToken(SetNxPx::new(nodes, context))),
};

struct ExtendWithoutToken(SetNxPx);

impl DelegatingLock for ExtendWithoutToken {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.0
    }

    async fn extend(
        &mut self,
        key: &str,
        grant: &Grant,
        ttl: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let lease = Lease::new(ttl)?;
        let asked = Stopwatch::start();
        let command = redis::Cmd::pexpire(key, lease.millis().cast_signed());
        let there: bool = self.0.redis.ask(command).await?;
        Ok(there.then(|| lease.extended(grant, asked)))
    }
}

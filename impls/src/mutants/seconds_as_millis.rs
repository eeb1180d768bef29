//! `seconds-as-millis`: `SET key token NX PX`, with a number of seconds where Redis expects
//! milliseconds.
//!
//! The key of a lease of one second is gone after a millisecond (S6). Caught while nothing goes wrong:
//! by `lease`, and by `claims`, cause `wrong-expiry`.

use std::time::Duration;

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, LockError};
use crate::delegating_lock::DelegatingLock;
use crate::lease::Lease;
use crate::patience::RETRY;
use crate::stopwatch::Stopwatch;
use crate::strategies::set_nx_px::SetNxPx;
use crate::{Context, Strategy};

pub(crate) const STRATEGY: Strategy = Strategy {
    name: "seconds-as-millis",
    summary: "mutant: SET NX PX with a number of seconds; the key is gone at once",
    nodes: 1,
    replicas: 0,
    options: RETRY,
    build: |nodes, context| Box::new(SecondsAsMillis(SetNxPx::new(nodes, context))),
};

struct SecondsAsMillis(SetNxPx);

impl Attempts for SecondsAsMillis {
    fn context(&mut self) -> &mut Context {
        &mut self.0.context
    }

    async fn attempt(
        &mut self,
        key: &str,
        name: &str,
        lease: Lease,
    ) -> Result<Option<Grant>, LockError> {
        let asked = Stopwatch::start();
        let seconds = (lease.millis() / 1000).max(1);
        let mut set = redis::cmd("SET");
        set.arg(key).arg(name).arg("NX").arg("PX").arg(seconds);
        let taken: bool = self.0.redis.ask(set).await?;
        Ok(taken.then(|| lease.grant(name, asked)))
    }
}

impl DelegatingLock for SecondsAsMillis {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.0
    }

    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        attempts::acquire(self, key, ttl, wait).await
    }
}

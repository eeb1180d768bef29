//! `extension-adds-up`: `set-nx-px` whose extension adds a lease to what is left of the old one.
//!
//! The key of a holder that extends early and often outlives its holder by a long time (S6). Caught by `claims`, cause
//! `wrong-expiry`, when a holder extends its lease.

use std::sync::LazyLock;
use std::time::Duration;

use redis::Script;

use crate::BuiltInLock;
use crate::contract::{Grant, Taken};
use crate::lease::Lease;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

static ADD_A_LEASE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("add_a_lease.lua")));

pub(crate) const LOCK: BuiltInLock = varied::<ExtensionAddsUp>(
    "extension-adds-up",
    "mutant: set-nx-px whose extensions add up",
);

#[derive(Default)]
struct ExtensionAddsUp;

impl Variation for ExtensionAddsUp {
    async fn extend(lock: &mut Varied<Self>, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let requested = Stopwatch::start();
        let mut add = ADD_A_LEASE.key(key);
        add.arg(&grant.token).arg(lease.millis());
        let extended: bool = add.invoke_async(lock.original.redis.connection()?).await?;
        Ok(extended.then(|| lease.extended(grant, requested)))
    }
}

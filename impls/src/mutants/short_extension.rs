//! `short-extension`: `set-nx-px` whose extension is half as long as reported.
//!
//! The key expires while its holder still relies on it (S6). Caught by `claims`, cause `wrong-expiry`, when a holder
//! extends its lease.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, Taken};
use crate::lease::Lease;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<ShortExtension>(
    "short-extension",
    "mutant: set-nx-px that extends by half of what it reports",
);

#[derive(Default)]
struct ShortExtension;

impl Variation for ShortExtension {
    async fn extend(lock: &mut Varied<Self>, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        let (lease, requested) = (Lease::new(ttl)?, Stopwatch::start());
        let extended = Lock::extend(&mut lock.original, key, grant, ttl / 2).await?;
        Ok(extended.map(|_| lease.extended(grant, requested)))
    }
}

//! `refusal-is-grant`: `set-nx-px` that treats a refusal as a grant.
//!
//! It ignores the result of the `SET` (S18: jasonlvhit/gocron#160, redbeat#208; ShedLock#178, where another client
//! returns null instead of false). Caught by `lease`, cause `unbacked-grant`, as soon as two clients compete.

use crate::BuiltInLock;
use crate::attempts::Attempts;
use crate::contract::Taken;
use crate::lease::Lease;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<RefusalIsGrant>(
    "refusal-is-grant",
    "mutant: set-nx-px that ignores the reply of SET",
);

#[derive(Default)]
struct RefusalIsGrant;

impl Variation for RefusalIsGrant {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let taken = lock.original.attempt(key, name, lease).await?;
        Ok(taken.or_else(|| Some(lease.grant(name, requested))))
    }
}

//! `refusal-is-grant`: `set-nx-px` that takes a refusal for a grant.
//!
//! The result of the `SET` is not looked at (S18: jasonlvhit/gocron#160, redbeat#208; ShedLock#178, where
//! another client returns null instead of false). Caught by `lease`, cause `unbacked-grant`, as soon as
//! two clients meet.

use crate::BuiltInLock;
use crate::attempts::Attempts;
use crate::contract::Taken;
use crate::lease::Lease;
use crate::locks::set_nx_px::SetNxPx;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, varied};

pub(crate) const LOCK: BuiltInLock = varied::<RefusalIsGrant>(
    "refusal-is-grant",
    "mutant: set-nx-px that does not look at what SET has answered",
);

struct RefusalIsGrant;

impl Variation for RefusalIsGrant {
    async fn attempt(original: &mut SetNxPx, key: &str, name: &str, lease: Lease) -> Taken {
        let asked = Stopwatch::start();
        let taken = original.attempt(key, name, lease).await?;
        Ok(taken.or_else(|| Some(lease.grant(name, asked))))
    }
}

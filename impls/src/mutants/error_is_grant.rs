//! `error-is-grant`: `set-nx-px` that counts an error as a grant.
//!
//! The client catches the exception around the `SET` and continues (S15, a fail-open wrapper: csredis#419). Caught by
//! `lease`, cause `unbacked-grant`, when Redis refuses the `SET` because it is out of memory.

use crate::BuiltInLock;
use crate::attempts::Attempts;
use crate::contract::Taken;
use crate::lease::Lease;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<ErrorIsGrant>(
    "error-is-grant",
    "mutant: set-nx-px that treats an error as a grant",
);

#[derive(Default)]
struct ErrorIsGrant;

impl Variation for ErrorIsGrant {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let tried = lock.original.attempt(key, name, lease).await;
        Ok(tried.unwrap_or_else(|_| Some(lease.grant(name, requested))))
    }
}

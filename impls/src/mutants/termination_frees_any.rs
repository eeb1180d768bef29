//! `termination-frees-any`: `set-nx-px` with a shutdown hook that deletes the lock's key, even if another client holds
//! the lock.
//!
//! A client that is asked to end while it waits deletes the holder's lock (S4: every deployment terminates clients in
//! this way). Caught by `ownership`, cause `foreign-removal`, when a waiting client is terminated.

use crate::BuiltInLock;
use crate::attempts::Attempts;
use crate::contract::{Grant, Taken};
use crate::lease::Lease;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<TerminationFreesAny>(
    "termination-frees-any",
    "mutant: set-nx-px whose shutdown hook deletes the key of the lock, whoever holds it",
);

/// The key that was requested last.
#[derive(Default)]
struct TerminationFreesAny(Option<String>);

impl Variation for TerminationFreesAny {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        lock.variation.0.get_or_insert_with(|| key.to_owned());
        lock.original.attempt(key, name, lease).await
    }

    async fn terminate(lock: &mut Varied<Self>, _held: &[(String, Grant)]) {
        if let Some(key) = &lock.variation.0 {
            lock.original
                .redis
                .ask::<u64>(redis::Cmd::del(key))
                .await
                .ok();
        }
    }
}

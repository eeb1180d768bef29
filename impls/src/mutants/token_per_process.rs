//! `token-per-process`: `set-nx-px` with one token for all clients of a process, by which it recognises its own lock.
//!
//! A value per process (its id, a UUID created at the start) does not distinguish the clients of the process. A client
//! that requests the lock while another client of its process has it is granted the lock, too (S12). Caught by
//! `exclusion` in a crowd.

use std::time::Duration;

use redis::Cmd;

use crate::BuiltInLock;
use crate::attempts::Attempts;
use crate::contract::Taken;
use crate::lease::Lease;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<TokenPerProcess>(
    "token-per-process",
    "mutant: set-nx-px whose clients of one process have one token, and are let in by it",
);

/// Shared by all clients of the simulated process.
const NAME: &str = "process-of-all-clients";

#[derive(Default)]
struct TokenPerProcess;

impl Variation for TokenPerProcess {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let patience = lock.context().patience(wait, ttl);
        loop {
            let requested = Stopwatch::start();
            let taken = lock.attempt(key, NAME, lease).await?;
            if taken.is_some() {
                return Ok(taken);
            }
            let held: Option<String> = lock.original.redis.ask(Cmd::get(key)).await?;
            if held.as_deref() == Some(NAME) {
                return Ok(Some(lease.grant(NAME, requested)));
            }
            if !lock.context().another_attempt(patience).await {
                return Ok(None);
            }
        }
    }
}

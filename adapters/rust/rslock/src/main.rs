//! Picklock adapter for rslock's `LockManager`: Redlock on all given nodes.
//!
//! The library retries a fixed number of times, or for ever. Here it makes one attempt at a time, and the adapter calls
//! it until the wait is over. Its error `Unavailable` means either that another client has the lock or that nodes do
//! not answer, and becomes `refused`. Its releases do not report whether the lock was still held. The command timeout
//! is the default of the redis crate, because rslock has no setting for it.

mod guards;
mod lock_contract;
mod picklock_adapter;
mod small_json;

use std::time::Duration;

use guards::{serve_guards, Guards};
use picklock_adapter::{Failure, Init};
use rslock::{Lock, LockError, LockManager};
use tokio::runtime::{Builder, Runtime};

fn rslock(init: Init) -> Result<Guards<(Runtime, LockManager), Lock, LockError, ()>, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut manager = LockManager::new(init.nodes);
    manager.set_retry(1, Duration::from_millis(1));
    Ok(Guards {
        library: (runtime, manager),
        attempt: |(runtime, locks), key, ttl| runtime.block_on(locks.lock(key, ttl)),
        is_refusal: |error| matches!(error, LockError::Unavailable),
        extend: |(runtime, locks), lock, ttl| runtime.block_on(locks.extend(lock, ttl)),
        release: |(runtime, locks), lock| runtime.block_on(locks.unlock(lock)),
        token: |lock| lock.val.iter().map(|byte| format!("{byte:02x}")).collect(),
        valid: |lock| Duration::from_millis(lock.validity_time as u64),
    })
}

fn main() {
    serve_guards(rslock, "rslock", "0.10.0", &[]);
}

//! `cron-min-hold`: a lock around a scheduled job that keeps its key for a minimum time.
//!
//! **Commands.** Acquire: `SET key token NX PX ms`. Extend: `compare_and_pexpire.lua`. Release: the same script with
//! the rest of the minimum time, or `compare_and_delete.lua` if none is left.
//!
//! **From.** ShedLock, `lockAtLeastFor`.
//!
//! **Promises.** Those of `set-nx-px`. A tick runs once, even if the job is short, as long as clocks and timers differ
//! by less than the minimum time.
//!
//! **Does not survive.**
//! - Clocks that differ by more than the minimum time (S22).
//! - A job that is slower than its lease (S1).
//! - Loss of the key: failover, restart, a jump of the server's clock, eviction (S7 to S10).

use std::time::Duration;

use crate::attempts;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::locks::set_nx_px::COMPARE_AND_PEXPIRE;
use crate::options::{OptionKind, OptionSpec, OptionValue};
use crate::patience::{RETRY_DELAY, RETRY_JITTER};
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied};
use crate::{BuiltInLock, Context, Node};

/// Minimum time for which the key stays, counted from the request.
pub(crate) const MIN_HOLD: OptionSpec = OptionSpec {
    name: "min_hold_ms",
    meaning: "minimum time for which the lock is held, in milliseconds",
    kind: OptionKind::Whole(0, 3_600_000),
    default: OptionValue::Whole(600),
};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    options: &[&RETRY_DELAY, &RETRY_JITTER, &MIN_HOLD],
    ..BuiltInLock::on_one_node(
        "cron-min-hold",
        "lock of a scheduled job: set-nx-px that keeps its key for a minimum time",
        |nodes, context| Box::new(new(nodes, context)),
    )
};

fn new(nodes: Vec<Node>, context: Context) -> Varied<MinimumHold> {
    let least = Duration::from_millis(context.options.whole(&MIN_HOLD));
    let variation = MinimumHold {
        least,
        ..MinimumHold::default()
    };
    Varied::new(nodes, context, variation)
}

#[derive(Default)]
struct MinimumHold {
    least: Duration,
    /// Measures the time since the request of the current hold.
    requested: Option<Stopwatch>,
}

impl Variation for MinimumHold {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let requested = Stopwatch::start();
        let taken = attempts::acquire(lock, key, ttl, wait).await;
        if matches!(taken, Ok(Some(_))) {
            lock.variation.requested = Some(requested);
        }
        taken
    }

    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let held = lock
            .variation
            .requested
            .map(|requested| requested.elapsed());
        let left = lock
            .variation
            .least
            .saturating_sub(held.unwrap_or_default());
        let left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        if left_ms == 0 {
            return Lock::release(&mut lock.original, key, grant).await;
        }
        let kept: bool = COMPARE_AND_PEXPIRE
            .key(key)
            .arg(&grant.token)
            .arg(left_ms)
            .invoke_async(lock.original.redis.connection()?)
            .await?;
        Ok(kept)
    }

    fn min_hold(lock: &Varied<Self>) -> Duration {
        lock.variation.least
    }
}

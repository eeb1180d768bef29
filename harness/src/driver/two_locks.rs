//! A buyer that holds two locks at the same time, as for a transfer: the lock of its own stock, and the lock of another
//! stock.

use std::time::Duration;

use picklock_scenarios::LockOrder;
use rand::RngExt;

use super::client_driver::{ClientDriver, Purchase, RequestAborted};
use crate::backend::Backend;
use crate::clock::nanos;

/// The part of the first lease after which a buyer gives up waiting for its second lock, so that the rest is left for
/// its section. There is no such limit if the lock renews the first lease.
const WAITED_PART: f64 = 0.5;

impl<B: Backend> ClientDriver<B> {
    /// Makes one attempt to buy with two locks. Returns `true` if the client has held both.
    pub(super) async fn buy_with_two(
        &mut self,
        purchase: Purchase,
    ) -> Result<bool, RequestAborted> {
        let [first, second] = self.order_of_locks(purchase.key);
        let requested_at_ns = self.context.clock.now_ns();
        let first = Purchase {
            key: first,
            ..purchase
        };
        let Some(outer) = self.acquire(first).await? else {
            self.pause_after_refusal().await;
            return Ok(false);
        };
        let wait = self.wait_for_second(requested_at_ns);
        let second = Purchase {
            key: second,
            ..purchase
        };
        let Some(inner) = self.acquire_within(second, wait).await? else {
            self.release(outer).await?;
            self.pause_after_refusal().await;
            return Ok(false);
        };
        let (own, other) = if inner.key == purchase.key {
            (inner, outer)
        } else {
            (outer, inner)
        };
        self.also_held = Some(other.op);
        let sold = self.critical_section(own).await;
        self.also_held = None;
        sold?;
        self.release(other).await?;
        Ok(true)
    }

    /// Returns the lock of the stock and another lock, in the order in which the buyer takes them.
    fn order_of_locks(&mut self, own: u32) -> [u32; 2] {
        let workload = &self.context.spec.scenario.workload;
        let keys = u32::try_from(workload.keys).unwrap_or(u32::MAX);
        let order = workload.lock_order;
        let other = (own + self.rng.random_range(1..keys)) % keys;
        let is_swapped = match order {
            LockOrder::Fixed => other < own,
            LockOrder::Random => self.rng.random_bool(0.5),
        };
        if is_swapped {
            [other, own]
        } else {
            [own, other]
        }
    }

    /// Returns how long the buyer waits for its second lock. The buyer requested the first lock at `requested_at_ns`.
    fn wait_for_second(&self, requested_at_ns: u64) -> Duration {
        let spec = &self.context.spec;
        let wait = spec.scenario.workload.wait.resolve(spec.ttl());
        if spec.lock.renews {
            return wait;
        }
        let past_ns = self.context.clock.now_ns().saturating_sub(requested_at_ns);
        let part = spec.ttl().mul_f64(WAITED_PART);
        let left_ns = nanos(part).saturating_sub(past_ns);
        wait.min(Duration::from_nanos(left_ns))
    }
}

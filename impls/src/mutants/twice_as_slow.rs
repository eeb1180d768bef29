//! `twice-as-slow`: `set-nx-px` that reads the key before it takes it, and ignores the result.
//!
//! It is safe: the read changes nothing, and costs one more round trip. Caught by a limit on the
//! latency of `acquire`, where round trips determine the cost of an acquisition.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Lock, Taken};
use crate::delegating_lock::DelegatingLock;
use crate::locks::set_nx_px::SetNxPx;

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "twice-as-slow",
    "mutant: set-nx-px with an unnecessary round trip before each acquisition",
    |nodes, context| Box::new(TwiceAsSlow(SetNxPx::new(nodes, context))),
);

struct TwiceAsSlow(SetNxPx);

impl DelegatingLock for TwiceAsSlow {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.0
    }

    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let _seen: Option<String> = self.0.redis.ask(redis::Cmd::get(key)).await?;
        Lock::acquire(&mut self.0, key, ttl, wait).await
    }
}

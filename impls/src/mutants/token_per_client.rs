//! `token-per-client`: `set-nx-px` with one token for all acquisitions of a client.
//!
//! The token tells clients apart, and not the acquisitions of one client (S12): a release that is
//! late on its way ends the sender's own next hold. Caught by `lease`, cause `own-removal`, when the
//! network holds a release back until its sender has the lock again.

use std::time::Duration;

use crate::attempts::{self, Attempts};
use crate::contract::Taken;
use crate::delegating_lock::DelegatingLock;
use crate::lease::Lease;
use crate::locks::set_nx_px::SetNxPx;
use crate::{BuiltInLock, Context};

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "token-per-client",
    "mutant: set-nx-px with one token for all acquisitions of a client",
    |nodes, mut context| {
        Box::new(TokenPerClient {
            token: context.token(),
            lock: SetNxPx::new(nodes, context),
        })
    },
);

struct TokenPerClient {
    lock: SetNxPx,
    token: String,
}

impl Attempts for TokenPerClient {
    fn context(&mut self) -> &mut Context {
        &mut self.lock.context
    }

    fn name(&mut self) -> String {
        self.token.clone()
    }

    async fn attempt(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        self.lock.attempt(key, name, lease).await
    }
}

impl DelegatingLock for TokenPerClient {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.lock
    }

    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        attempts::acquire(self, key, ttl, wait).await
    }
}

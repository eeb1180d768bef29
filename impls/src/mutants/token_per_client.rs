//! `token-per-client`: `set-nx-px` with one token for all acquisitions of a client.
//!
//! The token distinguishes clients, but not the acquisitions of one client (S12): a release that is delayed in transit
//! ends the sender's own next hold. Caught by `lease`, cause `shared-token`, when the network delays a release until
//! its sender has the lock again.

use crate::BuiltInLock;
use crate::variation::{Variation, Varied};

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "token-per-client",
    "mutant: set-nx-px with one token for all acquisitions of a client",
    |nodes, mut context| {
        let token = context.token();
        Box::new(Varied::new(nodes, context, TokenPerClient { token }))
    },
);

struct TokenPerClient {
    token: String,
}

impl Variation for TokenPerClient {
    fn name(lock: &mut Varied<Self>) -> String {
        lock.variation.token.clone()
    }
}

//! `renews-by-set`: a watchdog whose renewal is a plain `SET key token PX ms`.
//!
//! It minds its own lease, and an extension that its holder asks for compares the token. But when
//! the key was lost early (evicted, or gone with a failover) the renewal in the background writes it
//! again, over the lock of the client that took it meanwhile (S3, S4). Caught when a holder works on
//! after its key was evicted, and is never told.

use std::time::Duration;

use crate::Strategy;
use crate::contract::{Grant, LockError};
use crate::lease::Lease;
use crate::mutants::phantom_extend::renewal_by_set;
use crate::options::Options;
use crate::renewal::Habits;
use crate::renewing::{Renewable, Renewing};
use crate::strategies::set_nx_px::SetNxPx;
use crate::strategies::watchdog::OPTIONS;
use crate::variation::Variation;

pub(crate) const STRATEGY: Strategy = Strategy {
    name: "renews-by-set",
    summary: "mutant: a watchdog whose renewal writes the key without looking",
    nodes: 1,
    replicas: 0,
    options: OPTIONS,
    build: |nodes, context| {
        let lock = RenewsBySet(SetNxPx::new(nodes, context));
        Box::new(Renewing::new(lock, Habits::SOUND))
    },
};

/// Renews by writing; all else is that of `set-nx-px`.
struct RenewsBySet(SetNxPx);

impl Renewable for RenewsBySet {
    fn options(&self) -> &Options {
        &self.0.context.options
    }

    fn renewal(
        &self,
        key: &str,
        grant: &Grant,
        lease: Lease,
    ) -> impl AsyncFnMut() -> Result<Option<Duration>, LockError> + 'static {
        renewal_by_set(&self.0, key, grant, lease)
    }
}

impl Variation for RenewsBySet {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.0
    }
}

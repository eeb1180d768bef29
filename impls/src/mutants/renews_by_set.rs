//! `renews-by-set`: a watchdog that renews and extends by a plain `SET key token PX ms`.
//!
//! Unlike `phantom-extend` it respects its own lease and stops when the lease is over. But if the key was lost early
//! (evicted, or lost in a failover), it writes the key again, over the lock of a client that took it in the meantime
//! (S3, S4). Caught by `resource` when a holder whose key was evicted gets no loss report and continues to work.

use crate::locks::watchdog::OPTIONS;
use crate::mutants::phantom_extend::WritesAgain;
use crate::renewal::RenewalRules;
use crate::renewing::Renewing;
use crate::variation::Varied;
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "renews-by-set",
    summary: "mutant: a watchdog whose renewals write the key without looking",
    nodes: 1,
    replicas: 0,
    kind: Kind::Mutex,
    options: OPTIONS,
    build: |nodes, context| {
        let lock = Varied::new(nodes, context, WritesAgain);
        Box::new(Renewing::new(lock, RenewalRules::SOUND))
    },
};

//! `leader`: a leader election whose leaders have an epoch, and ask the server before each act.
//!
//! **Commands.** Candidacy: `set_and_count.lua` on the key and on `key:epoch`, its counter. Renewal, at half the lease:
//! `compare_and_pexpire.lua`. Before each act: GET, compared with the leader's own token. Resignation:
//! `compare_and_delete.lua`. The counter has no time to live.
//!
//! **From.** Kleppmann 2016, "How to do distributed locking", for the epoch; Kubernetes' `leaderelection` and etcd's
//! `concurrency.Election` for the check of the leader's own revision.
//!
//! **Promises.** A leader acts only within its lease, and only if the key was its own at the time of the check. So a
//! key that is lost (evicted, or lost in a restart or a failover) ends the term at the next act. Epochs increase
//! strictly, because taking the key and counting are one step. A resource that refuses epochs lower than the highest it
//! has seen shuts out an act that began in time and arrives late. A leader that resigns frees the key at once.
//!
//! **Does not survive.**
//! - A pause between the answer and the act (S5), if the resource does not check the epoch.
//! - Loss of the counter with the key (S13 after S7, S8, S10): the epochs begin again, and the resource refuses the
//!   rightful leader.
//! - Time: each act costs one request.

use crate::BuiltInLock;
use crate::varied_leader::{Leader, election};

pub(crate) const LOCK: BuiltInLock = election(
    "leader",
    "SET NX PX and an epoch from INCR in one script, renewed; GET before each act",
    |nodes, context| Box::new(Leader::new(nodes, context, None)),
);

//! The facts behind a finding: the holds, commands and faults that it refers to, looked up once. The cause and the
//! story are functions of these facts.

use picklock_scenarios::StockFault;

use crate::history::{History, KeyCommand};
use crate::key_history::{KeyHistory, ValueSpan};
use crate::timeline::{FaultSpan, Hold};

use crate::check::finding::{
    Claim, ClientDeath, Deadlock, ForeignTaking, StaleToken, Starvation, WrongStock,
};
use crate::check::verdict::Cause;

/// A finding, with the holds, commands and faults that it refers to.
pub(in crate::check) struct Facts<'a> {
    pub history: &'a History,
    /// All holds, in the order in which they began.
    pub holds: &'a [Hold],
    pub faults: &'a [FaultSpan<'a>],
    /// The key history, or `None` if the history has none.
    pub key_history: Option<&'a KeyHistory>,
    /// When the finding became apparent, in nanoseconds since the run began.
    pub at_ns: u64,
    /// `the lock`, with its name if there are several.
    pub lock: String,
    /// `the stock`, with its lock's name if there are several.
    pub stock: String,
    pub about: ResolvedObservation<'a>,
}

/// A finding whose attempts, holds and faults have been looked up.
pub(in crate::check) enum ResolvedObservation<'a> {
    /// Two holds of one lock overlap.
    Overlap(Overlap<'a>),
    /// A stock is wrong.
    WrongStock {
        stock: &'a WrongStock,
        /// The overlapping holds in which the stock was sold twice.
        sellers: Option<Overlap<'a>>,
        /// The fault outside the lock that damaged the stock.
        outside: Option<OutsideFault<'a>>,
        /// Whether a seller changed the stock between the reading and the change by another seller.
        is_interleaved: bool,
    },
    /// A command took or prolonged another client's value.
    ForeignTaking(Taken<'a>),
    /// A fencing token was not higher than an earlier token.
    StaleToken {
        stale: &'a StaleToken,
        hold: Option<&'a Hold>,
        /// The earlier hold with the higher token.
        before: Option<&'a Hold>,
    },
    /// A lock was free and wanted, and was not granted.
    Starvation {
        starvation: &'a Starvation,
        /// The last hold of the lock before the starvation.
        last: Option<&'a Hold>,
    },
    /// A client died without a fault.
    ClientDeath(&'a ClientDeath),
    /// Clients waited for each other.
    Deadlock(&'a Deadlock),
    /// Attempts that prove a false claim, or any other violation.
    Attempts {
        claim: Option<Claim>,
        ops: &'a [u64],
        holds: Vec<&'a Hold>,
        statement: &'a str,
    },
    /// The history does not contain the holds that the finding names.
    Nothing,
}

/// Two holds of one key that overlap.
pub(in crate::check) struct Overlap<'a> {
    /// The hold that began first.
    pub first: &'a Hold,
    /// The other hold.
    pub second: &'a Hold,
    /// The further holds of a semaphore that were active when the second hold began.
    pub others: Vec<&'a Hold>,
    /// Whether a grant arrived after its lease had expired, and no leases of the two ran at the same time.
    pub has_expired_grant: bool,
    /// Whether the second grant arrived after its lease had expired.
    pub second_arrived_late: bool,
    /// Whether every lease that the first hold may have had was over when the second hold began.
    pub is_outlived: bool,
    /// Whether every lease that the first hold certainly had was over when the second hold began. Leases that it only
    /// may have had are ignored.
    pub is_perhaps_outlived: bool,
    /// Whether the lock reported the loss to the first client only after the second client had entered, although the
    /// first client could run.
    pub late_loss_report: bool,
    /// When the first client requested an extension in time, if no command of that extension reached a server before
    /// the end of the lease.
    pub late_extension_ns: Option<u64>,
    /// Whether the lock promises renewal, and either the first client's value expired before the second grant, or the
    /// lock never reported to that client that its lease had ended.
    pub is_silent_loss: bool,
    /// For how long the machine delayed the first client or a server, if only that excuses that the lock never reported
    /// to the client that its lease had ended, in milliseconds.
    pub report_delay_ms: Option<u64>,
    /// The cause if one of the two holds was granted without any value on the servers: `UnbackedGrant`, or `StaleReply`
    /// if the grant may have been the late reply to an earlier attempt in doubt that had written a value.
    pub unbacked: Option<Cause>,
    /// When the lock let the first client act as the leader although no lease of its key could run any more.
    pub phantom_ns: Option<u64>,
    /// The values that were taken from their owner between the two grants.
    pub taken: Vec<Taken<'a>>,
}

impl Overlap<'_> {
    /// Returns `true` if the first client outlived its lease, and no mistake of the lock explains that.
    pub fn is_only_outlived(&self) -> bool {
        let is_explained = self.unbacked.is_some()
            || self.has_expired_grant
            || self.phantom_ns.is_some()
            || self.is_silent_loss
            || self.late_loss_report
            || self.late_extension_ns.is_some();
        self.is_outlived && !is_explained
    }
}

/// A fault outside the lock that damaged a stock. A correct lock cannot prevent such damage.
pub(in crate::check) struct OutsideFault<'a> {
    pub fault: StockFault,
    /// The hold whose access the fault affected, and the hold whose sale came in between.
    pub holds: [&'a Hold; 2],
}

/// A command that took or prolonged another client's value.
pub(in crate::check) struct Taken<'a> {
    pub taking: &'a ForeignTaking,
    /// The worker that sent the command.
    pub taker: Option<usize>,
    /// The worker that owned the value.
    pub owner: Option<usize>,
    pub taker_hold: Option<&'a Hold>,
    pub owner_hold: Option<&'a Hold>,
    /// The command and the value, if the key history shows them.
    pub by: Option<(&'a KeyCommand, &'a ValueSpan)>,
    /// Whether the command replaced the value in order to renew the sender's own lease.
    pub is_extension: bool,
    /// Whether both clients wrote the same value.
    pub is_same_token: bool,
}

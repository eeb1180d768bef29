//! What a finding is explained from: everything that it names, looked up once. Its cause and its story are
//! functions of that.

use picklock_scenarios::StockFault;

use crate::history::{History, KeyCommand};
use crate::key_history::{KeyHistory, ValueSpan};
use crate::timeline::{FaultSpan, Hold};

use crate::check::finding::{Claim, ForeignRelease, StaleToken, Starvation, WrongStock};

/// A finding with what it names.
pub(in crate::check) struct Facts<'a> {
    pub history: &'a History,
    /// Its holds, in the order in which they began.
    pub holds: &'a [Hold],
    pub faults: &'a [FaultSpan<'a>],
    /// All values of the servers' keys. `None`: the history has no account of them.
    pub key_history: Option<&'a KeyHistory>,
    /// When the finding showed, in nanoseconds since the run began.
    pub at_ns: u64,
    /// `the lock`, or with its name where there are several.
    pub lock: String,
    /// `the stock`, or with its lock's name where there are several.
    pub stock: String,
    pub found: Found<'a>,
}

/// What was found.
pub(in crate::check) enum Found<'a> {
    /// Two holds of one key overlap.
    Overlap(Overlap<'a>),
    /// A stock is wrong.
    WrongStock {
        stock: &'a WrongStock,
        /// The overlapping holds in which it was sold twice.
        sellers: Option<Overlap<'a>>,
        /// What spoilt it, whatever the lock did.
        outside: Option<Outside<'a>>,
        /// One seller read the stock, and another changed it before the first one did.
        is_interleaved: bool,
    },
    /// A command took or prolonged another client's value.
    ForeignRelease(Taken<'a>),
    /// A fencing token was not higher than an earlier one.
    StaleToken {
        stale: &'a StaleToken,
        hold: Option<&'a Hold>,
        /// The hold with the higher token that it followed.
        before: Option<&'a Hold>,
    },
    /// A lock was free and wanted, and was not granted.
    Starvation {
        starvation: &'a Starvation,
        /// The last hold of the lock before.
        last: Option<&'a Hold>,
    },
    /// Attempts that prove a false claim, or anything else.
    Attempts {
        claim: Option<Claim>,
        ops: &'a [u64],
        holds: Vec<&'a Hold>,
        statement: &'a str,
    },
    /// Holds that the history does not have.
    Nothing,
}

/// Two holds of one key that overlap.
pub(in crate::check) struct Overlap<'a> {
    /// The one that began first.
    pub first: &'a Hold,
    /// The other one.
    pub second: &'a Hold,
    /// A grant arrived after its lease had expired, and no leases of the two ran together.
    pub has_expired_grant: bool,
    /// The second grant arrived after its lease had expired.
    pub second_arrived_late: bool,
    /// Every lease that the first can have had was over when the second began.
    pub is_outlived: bool,
    /// Every lease that it certainly had was over.
    pub is_perhaps_outlived: bool,
    /// The lock told the first client of its loss when the second one was inside already, and that client could run.
    pub late_loss_report: bool,
    /// When the first asked in time for an extension, which reached no server before its lease was over.
    pub late_extension_ns: Option<u64>,
    /// The first ran out before the second was granted, although its lock promises to renew it.
    pub ran_out_unrenewed: bool,
    /// One of the two has written nothing, while what its attempt before had written without a certain answer was
    /// there: its grant was the reply to that.
    pub rests_on_earlier: bool,
    /// What was taken from its owner between the two grants.
    pub taken: Vec<Taken<'a>>,
}

/// What a right lock does not prevent, and spoilt a stock.
pub(in crate::check) struct Outside<'a> {
    pub fault: StockFault,
    /// Whose access it was, and whose sale came between.
    pub holds: [&'a Hold; 2],
}

/// A command that took another client's value away, or kept it alive.
pub(in crate::check) struct Taken<'a> {
    pub release: &'a ForeignRelease,
    /// Whose command it was.
    pub taker: Option<usize>,
    /// Whose value it was.
    pub owner: Option<usize>,
    /// What the taker held.
    pub taker_hold: Option<&'a Hold>,
    /// What the owner held.
    pub owner_hold: Option<&'a Hold>,
    /// The command, and the value that it took or kept alive. `None`: the history has no account of it.
    pub by: Option<(&'a KeyCommand, &'a ValueSpan)>,
    /// It put another value in the place of the one that it took away, and that was a renewal.
    pub is_extension: bool,
    /// Both clients wrote the same value.
    pub is_same_token: bool,
}

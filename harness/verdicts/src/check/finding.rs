//! Findings: what a checker saw, and the attempts, keys and times that prove it.
//!
//! A finding is a plain value. It says nothing about causes and contains no sentences; both are
//! attached later, by [`crate::check::causes::cause`] and [`super::story`].

use super::inconclusive::InconclusiveReason;

/// The first violation of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// When it showed, in nanoseconds since the run began.
    pub at_ns: u64,
    /// What proves it.
    pub seen: Seen,
}

/// What proves a violation. Attempts are given by their number in the history (`op`), keys by
/// their position in the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// Two holds of one key overlap, as a whole or within their leases.
    Overlap {
        /// The attempt whose interval began first.
        earlier: u64,
        /// The attempt whose interval began while the first one was running.
        later: u64,
    },
    /// A stock is wrong.
    WrongStock(WrongStock),
    /// A release succeeded on another client's lock.
    ForeignRelease(ForeignRelease),
    /// A fencing token was not higher than an earlier one.
    StaleToken(StaleToken),
    /// A lock was free and wanted, and was not granted.
    Starvation(Starvation),
    /// The lock said something that is not what it did.
    FalseClaim(FalseClaim),
    /// Any other proof. A property that needs no rules of its own for cause and story uses this
    /// variant.
    Attempts {
        /// The attempts concerned, in the order in which the story introduces them.
        ops: Vec<u64>,
        /// What was seen, as a sentence without a full stop.
        statement: String,
    },
}

/// A stock below zero, or one that does not add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongStock {
    /// The stock's key.
    pub key: u32,
    /// The attempt that changed or read it; `None` if the count at the end is wrong.
    pub op: Option<u64>,
    /// Units sold until then.
    pub sold: i64,
    /// Units left then.
    pub left: i64,
}

/// A release that succeeded after the lock had been granted to another client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignRelease {
    /// The lock's key.
    pub key: u32,
    /// The attempt that released.
    pub releaser: u64,
    /// The attempt that held the lock.
    pub owner: u64,
    /// Since when the lock was the owner's: its grant, or with key history, when its value was written.
    pub owned_ns: u64,
    /// When the release was sent.
    pub sent_ns: u64,
    /// When the last command of the release was sent; with key history, when the command took the value
    /// away.
    pub fired_at_ns: u64,
    /// What the command did to the owner's value.
    pub how: Taking,
}

/// What a command did to another client's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taking {
    /// It removed the value.
    Removed,
    /// It put another value in its place.
    Replaced,
    /// It kept the value alive for longer.
    Prolonged,
}

/// What a lock said, and did not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FalseClaim {
    /// In what it was wrong.
    pub about: Claim,
    /// The attempts concerned, in the order in which the story introduces them.
    pub ops: Vec<u64>,
    /// What was seen, as a sentence without a full stop.
    pub statement: String,
}

/// What a lock can be wrong in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// That it has the lock: its value was written to too few nodes.
    Grant,
    /// For how long it has the lock: the expiry that was written ends earlier.
    Validity,
    /// The lease that was asked for: the expiry that was written is another one.
    Expiry,
    /// The same, where its value is that of an earlier attempt in doubt: it rests on the late reply to that.
    EarlierReply,
    /// How long it took: longer than the driver has waited.
    Elapsed,
    /// That it has not got the lock: its value was there, and stayed.
    Refusal,
    /// What it says of its release: its value was still there.
    Release,
    /// That an extension cannot be: the lock was still its client's.
    Extension,
    /// That it renews its lease: it did not.
    Renewal,
    /// That it is a lock of its own: another one uses the same key.
    Key,
}

/// A fencing token that was not higher than an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaleToken {
    /// The attempt that received it.
    pub op: u64,
    /// When it arrived.
    pub at_ns: u64,
    /// The token.
    pub fence: u64,
    /// The highest token before it, or the same one.
    pub highest: u64,
}

/// A period in which a lock was free and wanted, and was not granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Starvation {
    /// The lock's key.
    pub key: u32,
    /// Since when the lock was free and wanted.
    pub from_ns: u64,
    /// When the bound was reached.
    pub until_ns: u64,
    /// The worker that wanted it; `None` for the probe after the run, or if nothing tried.
    pub worker: Option<usize>,
    /// Workers asked for it in turn, and that one began later.
    pub in_turn: bool,
    /// The last attempt without a certain answer since the last grant: its worker, and when it
    /// ended. Only if what that attempt may have taken was still there when the clients had ended.
    pub doubt: Option<(usize, u64)>,
    /// A key without expiry was found after the run.
    pub has_unexpiring_key: bool,
}

/// The decision of one checker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// Nothing was found against the property.
    Held,
    /// Nothing was found against `progress`, though attempts got no lock.
    HeldThough {
        /// How many were refused.
        refused: u64,
        /// How many ended in an error.
        failed: u64,
    },
    /// The history proves violations.
    Violated {
        /// The first one.
        first: Finding,
        /// How many there are.
        count: u64,
    },
    /// The history does not decide it, for this reason.
    Unknown(InconclusiveReason),
    /// The property does not apply to this lock.
    NotApplicable,
}

impl Judgement {
    /// `Violated` with the first of what was found, each with the time at which it showed; `Held` if that is nothing.
    pub fn of(found: Vec<(u64, Seen)>) -> Self {
        let count = found.len() as u64;
        let first = found.into_iter().min_by_key(|(at_ns, _)| *at_ns);
        first.map_or(Judgement::Held, |(at_ns, seen)| {
            let first = Finding { at_ns, seen };
            Judgement::Violated { first, count }
        })
    }
}

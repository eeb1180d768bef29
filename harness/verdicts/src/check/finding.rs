//! Findings: what a checker observed, and the attempts, keys and times that prove it.
//!
//! A finding is a plain value without a cause and without a story. Cause and story are added later, by
//! [`crate::check::causes::cause`] and [`super::story`].

use crate::history::EventKind;

use super::inconclusive::InconclusiveReason;

/// The first violation of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// When the violation became apparent, in nanoseconds since the run began.
    pub at_ns: u64,
    /// The observation that proves the violation.
    pub observation: Observation,
}

/// An observation that proves a violation. Attempts are given by their number in the history (`op`), keys by their
/// position in the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    /// Holds of one lock overlap, as a whole or within their leases, and together weigh more than the lock's capacity.
    Overlap {
        /// The attempts whose intervals began first: one, if the lock has one holder.
        holders: Vec<u64>,
        /// The attempt whose interval began while the others were running.
        later: u64,
    },
    /// A stock is wrong.
    WrongStock(WrongStock),
    /// A release succeeded on another client's lock.
    ForeignTaking(ForeignTaking),
    /// A fencing token was not higher than an earlier token.
    StaleToken(StaleToken),
    /// A lock was free and wanted, and was not granted.
    Starvation(Starvation),
    /// A client died without a fault.
    ClientDeath(ClientDeath),
    /// Clients waited for each other.
    Deadlock(Deadlock),
    /// The lock reported something that disagrees with what it did.
    FalseClaim(FalseClaim),
    /// Any other proof, for a property that needs no special rules for cause and story.
    Attempts {
        /// The attempts concerned, in the order in which the story introduces them.
        ops: Vec<u64>,
        /// The observation, as a sentence without a full stop.
        statement: String,
    },
}

/// A stock that is below zero or does not add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongStock {
    /// The lock that protects the stock.
    pub lock: u32,
    /// The attempt that changed or read the stock, or `None` if the final count is wrong.
    pub op: Option<u64>,
    /// Units sold up to that time.
    pub sold: i64,
    /// Units left at that time.
    pub left: i64,
}

/// A command that took or prolonged another client's lock. It belongs to a release that succeeded after the lock had
/// been granted to another client, or to a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ForeignTaking {
    /// The lock, by its position in `Header::keys`.
    pub lock: u32,
    /// The attempt whose command took the lock.
    pub taker: u64,
    /// The attempt that held the lock.
    pub owner: u64,
    /// When the owner's ownership began: its grant or, with key history, the writing of its value.
    pub owned_ns: u64,
    /// When the release was sent, or when the command took effect if it belongs to no release.
    pub sent_ns: u64,
    /// When the last command of the release was sent or, with key history, when the command changed the value.
    pub took_effect_ns: u64,
    /// The effect of the command on the owner's value.
    pub how: Taking,
}

/// The effect of a command on another client's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Taking {
    /// The command removed the value.
    Removed,
    /// The command wrote another value over it.
    Replaced,
    /// The command extended the life of the value.
    Prolonged,
}

/// A claim of a lock that disagrees with what it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FalseClaim {
    /// The subject of the claim.
    pub about: Claim,
    /// The attempts concerned, in the order in which the story introduces them.
    pub ops: Vec<u64>,
    /// The observation, as a sentence without a full stop.
    pub statement: String,
}

/// A claim of a lock that the key history can contradict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// The client has the lock. False if its value was written to too few nodes.
    Grant,
    /// The client has the lock for the reported time. False if the written expiry ends earlier.
    Validity,
    /// The lease is the requested one. False if the written expiry differs from it.
    Expiry,
    /// Like `Validity`, for a value from an earlier attempt in doubt, whose late reply caused the grant.
    EarlierReply,
    /// The request took the reported time. False if the driver waited for a shorter time.
    Elapsed,
    /// The client did not get the lock. False if its value exists and stays.
    Refusal,
    /// The release succeeded, or had nothing to release, or ended a failed section. False if the client's value shows
    /// otherwise.
    Release,
    /// The release returned without a result, which implies that the lock is free. False if the value stays.
    SilentRelease,
    /// The client lost the lock. False if its value still existed.
    Loss,
    /// The lease was extended. False if the value had disappeared and was written again.
    Recreation,
    /// An extension is impossible. False if the client still owned the lock.
    Extension,
    /// The lock renews its lease. False if it did not.
    Renewal,
    /// The lock is independent of other locks. False if another lock uses the same key.
    Key,
    /// The semaphore never grants more permits than it has. False if it granted more at the same time.
    Capacity,
    /// The lock does not starve writers. False if too many readers that requested the lock later were let in first.
    Turn,
    /// The lock lets one client run the job of a tick. False if another client ran it again after the first client had
    /// released the lock.
    Rerun,
    /// The lock lets a client run the job of a tick. False if no client got the lock although it was free.
    Tick,
}

/// A fencing token that was not higher than an earlier token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaleToken {
    /// The attempt that received the token.
    pub op: u64,
    /// When it arrived.
    pub at_ns: u64,
    /// The token.
    pub fence: u64,
    /// The highest earlier token, which is at least as high.
    pub highest: u64,
}

/// A period in which a lock was free and wanted, and was not granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Starvation {
    /// The lock, by its position in `Header::keys`.
    pub lock: u32,
    /// When the lock was first both free and wanted.
    pub from_ns: u64,
    /// When the bound was reached.
    pub until_ns: u64,
    /// The worker that wanted the lock, or `None` if it was the probe after the run, or if no client tried.
    pub worker: Option<usize>,
    /// Whether every client that wanted the lock was waiting, for longer than its `timeout_ms`, for a lost reply.
    pub late_timeout: bool,
    /// Whether several workers requested the lock in turn. `worker` then began to wait later than `from_ns`.
    pub in_turn: bool,
    /// The worker and the end of the last attempt without a definite answer since the last grant. Set only if the value
    /// that this attempt may have written still existed when the clients had ended.
    pub doubt: Option<(usize, u64)>,
    /// Whether a key without expiry was found after the run.
    pub has_unexpiring_key: bool,
}

/// The death of a client without a fault and without a signal from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientDeath {
    /// The client.
    pub worker: usize,
    /// Its latest attempt, or `None` if it had none.
    pub op: Option<u64>,
    /// How the client died, with the last lines that it printed.
    pub reason: String,
}

/// A cycle of clients that each wait for a lock that the next one holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlock {
    /// The waits. Each client waits for a lock that the client of the next wait holds.
    pub waits: Vec<Wait>,
    /// When the last of these waits began.
    pub closed_ns: u64,
}

/// A client that waits for a lock that another client holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The attempt that waits.
    pub op: u64,
    /// Its worker.
    pub worker: usize,
    /// The key of the lock.
    pub wanted: u32,
    /// The worker that holds it.
    pub holder: usize,
    /// When the wait began.
    pub since_ns: u64,
}

/// The decision of one checker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// The history shows no violation.
    Held,
    /// The history shows no violation of `progress`, although attempts did not get the lock.
    HeldThough {
        /// Number of refused attempts.
        refused: u64,
        /// Number of attempts that ended in an error.
        failed: u64,
    },
    /// The history proves violations.
    Violated {
        /// The first violation.
        first: Finding,
        /// Number of violations.
        count: u64,
    },
    /// The history does not decide the property, for this reason.
    Unknown(InconclusiveReason),
    /// The property does not apply to this lock.
    NotApplicable,
}

impl Judgement {
    /// Returns `Violated` with the earliest of these observations, each with its time, or `Held` if there are none.
    pub fn from_observations(found: Vec<(u64, Observation)>) -> Self {
        let count = found.len() as u64;
        let first = found.into_iter().min_by_key(|(at_ns, _)| *at_ns);
        first.map_or(Judgement::Held, |(at_ns, observation)| {
            let first = Finding { at_ns, observation };
            Judgement::Violated { first, count }
        })
    }

    /// Adds observations, each with its time, to this judgement. The earliest violation becomes the first one.
    #[must_use]
    pub fn with(self, found: Vec<(u64, Observation)>) -> Self {
        match (Judgement::from_observations(found), self) {
            (
                Judgement::Violated { first, count },
                Judgement::Violated {
                    first: other,
                    count: others,
                },
            ) => Judgement::Violated {
                first: if other.at_ns < first.at_ns {
                    other
                } else {
                    first
                },
                count: count + others,
            },
            (found @ Judgement::Violated { .. }, _) => found,
            (_, judgement) => judgement,
        }
    }
}

/// Returns the gap in the key history that an event records, or `None` if it records none.
pub(super) fn key_history_gap(event: &EventKind) -> Option<InconclusiveReason> {
    match event {
        EventKind::KeyHistoryIncomplete {
            reason,
            has_gap: true,
        } => Some(InconclusiveReason::KeyHistoryGap {
            reason: reason.clone(),
        }),
        _ => None,
    }
}

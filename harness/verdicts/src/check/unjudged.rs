//! Why something could not be judged, as values.
//!
//! Who decides anything looks at the value. The words are made from it in `unjudged_words.rs`, and nobody reads them
//! but people.

use picklock_scenarios::BackendName;
use serde::{Deserialize, Serialize};

use crate::history::MissedBecause;

/// Why a property could not be judged, or nothing that was found to hold can be believed. Times are in nanoseconds
/// since the run began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Unjudged {
    /// The harness stood still during a fault or a hold.
    HarnessPause {
        /// For how long, the first time.
        late_ms: u64,
        /// Until when.
        until_ns: u64,
        /// What was going on.
        during: Ongoing,
        /// How often.
        count: u64,
    },
    /// Two clients were inside only because the harness stood still.
    HeldByHarnessPause {
        /// Whose hold lasted, or whose grant lay in the harness.
        worker: usize,
        /// For how long the harness stood still meanwhile.
        lost_ms: u64,
        /// When the hold ended, or its lease was told anew.
        until_ns: u64,
    },
    /// A client outlived its lease only because it waited for a fault to strike.
    LateInjection {
        /// Who.
        worker: usize,
        /// For how long.
        waited_ns: u64,
        /// The fault in words.
        fault: String,
    },
    /// A fault of nodes lasted longer than its scenario says, and longer than the hold that it was to strike.
    FaultOverran {
        /// The fault in words.
        fault: String,
        /// How long it lasted.
        lasted_ns: u64,
        /// How much of that was too long.
        late_ms: u64,
    },
    /// A planned fault did not strike.
    FaultMissed {
        /// Its kind.
        fault: String,
        /// The reason in words.
        reason: String,
        /// The reason, where it matters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<MissedBecause>,
    },
    /// What a fault did could not be undone.
    FaultNotUndone {
        /// What was to be done.
        what: String,
        /// The reason in words.
        reason: String,
    },
    /// The scenario is not made for this backend.
    BackendUnsupported {
        /// This one.
        backend: BackendName,
        /// Those that it is made for.
        supported: Vec<BackendName>,
    },
    /// A simulated server did not know a command.
    CommandUnknown {
        /// Its name.
        command: String,
    },
    /// No extension was tested.
    ExtensionUntested {
        /// The lock cannot, in its words; `None`: nobody came to ask.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unsupported: Option<String>,
    },
    /// The server that keeps the stock did not do its part.
    StockUnknown {
        /// The reason in words.
        reason: String,
    },
    /// The locks could not be inspected after the run.
    FinalInspectionFailed {
        /// The reason in words.
        reason: String,
    },
    /// A server died, and no fault asked for it.
    NodeLost {
        /// Which.
        node: usize,
        /// The reason in words.
        reason: String,
    },
    /// Something came from a worker while it was frozen or dead.
    FreezeLeak {
        /// Which.
        worker: usize,
        /// To which node; `None`: to a Sentinel.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<usize>,
        /// When.
        came_ns: u64,
    },
    /// The harness ran out of something.
    ResourceExhaustion {
        /// Of what, in words.
        reason: String,
    },
    /// A client had closed its connection before it was known whose it was.
    ClientGone {
        /// On whose link.
        worker: usize,
        /// What it sent.
        sent: String,
    },
    /// The lock does not use the servers of the run: nothing is known about it.
    OtherServers {
        /// Who was granted the lock without a command.
        worker: usize,
        /// The servers that it was given.
        nodes: Vec<String>,
    },
    /// The user interrupted the run.
    Interrupted,
    /// The lock was granted too rarely.
    TooFewGrants {
        /// How often.
        granted: u64,
        /// How often the scenario wants it.
        needed: u64,
    },
    /// Every worker died on its own.
    EverybodyDied,
    /// No two workers ever wanted a lock at the same time.
    NobodyCompeted,
    /// Two leases may have run at the same time.
    LeasesMayHaveOverlapped,
    /// The history has no count of the stock at its end.
    StockUncounted,
    /// A release succeeded while a node had two masters.
    TwoMasters,
    /// A release succeeded after two leases had overlapped, and there is no custody.
    OwnerUnknown,
    /// Nobody got the lock, for this reason.
    Starved {
        /// The reason.
        by: StarvedBy,
    },
}

/// What was going on while the harness stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ongoing {
    /// A fault.
    Fault,
    /// A hold.
    Hold,
}

/// Why it is not the lock's fault, or may not be, that nobody got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StarvedBy {
    /// A fault took away nodes that it needs.
    NodesOutOfReach,
    /// A clock was wrong.
    WrongClock,
    /// Attempts without a certain answer may have taken it.
    AttemptsInDoubt,
    /// A client that counts as frozen or dead was at work.
    FreezeLeak,
    /// The client after the run may have met a lease or a fault.
    ProbeBlocked,
    /// The harness stood still for so many milliseconds meanwhile.
    HarnessPause(u64),
}

impl Unjudged {
    /// True if the machine was too slow: the run says nothing about the lock, and may be made again.
    pub fn is_machines_fault(&self) -> bool {
        match self {
            Unjudged::HarnessPause { .. }
            | Unjudged::HeldByHarnessPause { .. }
            | Unjudged::LateInjection { .. }
            | Unjudged::FaultOverran { .. }
            | Unjudged::ClientGone { .. } => true,
            Unjudged::FaultMissed { because, .. } => *because == Some(MissedBecause::NoFailover),
            Unjudged::Starved { by } => matches!(by, StarvedBy::HarnessPause(_)),
            _ => false,
        }
    }
}

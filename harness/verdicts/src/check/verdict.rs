//! What the checkers say.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What is judged. The order is the order in which people read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Property {
    /// No two holds of one key overlap.
    Exclusion,
    /// No two holds overlap even when each is cut at its own lease deadline.
    Lease,
    /// The stock is never below zero, and what was sold and what is left add up.
    Resource,
    /// No release claims success on a lock that another client had been granted.
    Ownership,
    /// Tokens strictly increase in the order of holds.
    Fencing,
    /// Once faults and leases are over, somebody who wants the lock gets it.
    Progress,
}

/// How a property came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Judged, and nothing against it in this history.
    Held,
    /// The history proves that it was broken.
    Violated,
    /// Could not be decided.
    Unknown,
    /// Does not apply to this subject (fencing without tokens).
    NotApplicable,
}

/// Why a property was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The client went on after its lease had run out.
    OutlivedLease,
    /// The grant arrived after it had already run out.
    ExpiredGrant,
    /// A failover lost the lock.
    LostOnFailover,
    /// A restart lost the lock.
    LostOnRestart,
    /// Nodes of the quorum forgot their votes.
    QuorumErosion,
    /// A node's clock leapt.
    ClockJump,
    /// A client's clock is wrong.
    ClockSkew,
    /// Somebody released a lock that was not theirs.
    StolenRelease,
    /// An extension re-created a lost lock.
    PhantomExtend,
    /// An acquisition was carried out without the client knowing.
    AmbiguousAcquire,
    /// The key was evicted or flushed.
    Evicted,
    /// A key without expiry was left behind.
    NoTtl,
    /// Check-then-act between commands.
    Race,
    /// None of the causes that are known here can be shown.
    Undetermined,
}

/// The verdict on one property.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// How it came out.
    pub status: Status,
    /// Violations: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Violations: what happened, at most ten lines; unknown: why it could not be decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub story: Vec<String>,
    /// How many violations of this property were found.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub violations: u64,
    /// Violations: when the first one showed, nanoseconds since the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<u64>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// One verdict for each property, in reading order.
pub type Verdicts = BTreeMap<Property, Verdict>;

impl Property {
    /// All of them, in reading order.
    pub const ALL: [Property; 6] = [
        Property::Exclusion,
        Property::Lease,
        Property::Resource,
        Property::Ownership,
        Property::Fencing,
        Property::Progress,
    ];

    /// The word that files and command lines use.
    pub fn word(self) -> &'static str {
        match self {
            Property::Exclusion => "exclusion",
            Property::Lease => "lease",
            Property::Resource => "resource",
            Property::Ownership => "ownership",
            Property::Fencing => "fencing",
            Property::Progress => "progress",
        }
    }
}

impl Status {
    /// The word that files and command lines use.
    pub fn word(self) -> &'static str {
        match self {
            Status::Held => "held",
            Status::Violated => "violated",
            Status::Unknown => "unknown",
            Status::NotApplicable => "not-applicable",
        }
    }
}

impl Cause {
    /// The word that files and command lines use.
    pub fn word(self) -> &'static str {
        match self {
            Cause::OutlivedLease => "outlived-lease",
            Cause::ExpiredGrant => "expired-grant",
            Cause::LostOnFailover => "lost-on-failover",
            Cause::LostOnRestart => "lost-on-restart",
            Cause::QuorumErosion => "quorum-erosion",
            Cause::ClockJump => "clock-jump",
            Cause::ClockSkew => "clock-skew",
            Cause::StolenRelease => "stolen-release",
            Cause::PhantomExtend => "phantom-extend",
            Cause::AmbiguousAcquire => "ambiguous-acquire",
            Cause::Evicted => "evicted",
            Cause::NoTtl => "no-ttl",
            Cause::Race => "race",
            Cause::Undetermined => "undetermined",
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl Verdict {
    /// Nothing against it.
    pub fn held() -> Self {
        Verdict {
            status: Status::Held,
            cause: None,
            story: Vec::new(),
            violations: 0,
            at_ns: None,
        }
    }

    /// Could not be decided, for this reason.
    pub fn unknown(reason: impl Into<String>) -> Self {
        Verdict {
            status: Status::Unknown,
            story: vec![reason.into()],
            ..Verdict::held()
        }
    }

    /// Does not apply.
    pub fn not_applicable() -> Self {
        Verdict {
            status: Status::NotApplicable,
            ..Verdict::held()
        }
    }
}

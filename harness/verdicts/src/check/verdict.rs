//! Verdicts: what a history says about each property, and why.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use picklock_scenarios::{Cause, Property, Responsible};

/// A story has at most this many lines.
pub(super) const STORY_LINES: usize = 10;

/// The result for one property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Judged, and this history shows nothing against it.
    Held,
    /// The history proves a violation.
    Violated,
    /// Could not be decided.
    Unknown,
    /// Does not apply to this lock (fencing without tokens).
    NotApplicable,
}

/// The verdict on one property.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The result.
    pub status: Status,
    /// The cause of a violation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// For a violation: what happened, in at most ten lines. For `unknown`: the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub story: Vec<String>,
    /// How many violations of this property were found.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub violations: u64,
    /// When the first violation showed, in nanoseconds since the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<u64>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// One verdict for each property, in reading order.
pub type Verdicts = BTreeMap<Property, Verdict>;

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

    /// The sign that reports use, for readers who do not see colours.
    pub fn sign(self) -> &'static str {
        match self {
            Status::Held => "✔",
            Status::Violated => "✘",
            Status::Unknown => "?",
            Status::NotApplicable => "–",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl Verdict {
    /// A verdict `held`.
    pub fn held() -> Self {
        Verdict {
            status: Status::Held,
            cause: None,
            story: Vec::new(),
            violations: 0,
            at_ns: None,
        }
    }

    /// A verdict `unknown`, for this reason.
    pub fn unknown(reason: impl Into<String>) -> Self {
        Verdict {
            status: Status::Unknown,
            story: vec![reason.into()],
            ..Verdict::held()
        }
    }

    /// A verdict `not-applicable`.
    pub fn not_applicable() -> Self {
        Verdict {
            status: Status::NotApplicable,
            ..Verdict::held()
        }
    }
}

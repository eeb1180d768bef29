//! A scenario, as its file describes it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::backend_name::BackendName;
use crate::cause::{CAUSES, Cause};
use crate::fault::FaultPlan;
use crate::lease_duration::LeaseDuration;
use crate::topology::Topology;
use crate::workload::Workload;

/// A scenario: topology, workload, faults, and expected verdicts. Pure data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name in the catalog and in reports: lower-case words joined by `-`.
    pub name: String,
    /// One or two sentences: what happens, and why it matters.
    pub summary: String,
    /// The source of the claim: an article, a paper, an issue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The backends that the scenario supports. If omitted, it supports all backends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backends: Vec<BackendName>,
    /// The cost of a lock that the scenario measures. If omitted, the scenario measures no particular cost. This field
    /// does not affect results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measures: Option<Measure>,
    /// The Redis servers.
    #[serde(default)]
    pub topology: Topology,
    /// The behaviour of the buyers.
    #[serde(default)]
    pub workload: Workload,
    /// The faults, in no particular order; each has its own trigger.
    #[serde(default, rename = "fault")]
    pub faults: Vec<FaultPlan>,
    /// Parameters of the checkers.
    #[serde(default)]
    pub judge: Judge,
    /// Expected verdicts by lock (or [`OTHERS`] for all other locks), then by property (or [`OTHERS`] for all other
    /// properties). In a table without [`OTHERS`], the properties that it does not name are expected to hold.
    #[serde(default)]
    pub expect: BTreeMap<String, BTreeMap<String, Expectation>>,
}

/// The name that stands for all other locks, or properties, in the tables of expectations.
pub const OTHERS: &str = "*";

impl Scenario {
    /// Returns `true` if the scenario supports this backend. In any other backend its verdicts are `unknown`.
    pub fn runs_in(&self, backend: BackendName) -> bool {
        self.backends.is_empty() || self.backends.contains(&backend)
    }
}

/// Parameters of the checkers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Judge {
    /// Minimum number of grants; with fewer, the run is inconclusive.
    pub min_grants: u64,
    /// After faults and leases are over, a client that wants the lock must get it within this time.
    pub progress_within: LeaseDuration,
    /// Maximum number of readers that may be let in before a writer that asked earlier. If omitted, any number is
    /// allowed. Only for `read-write`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_overtakes: Option<u32>,
}

impl Default for Judge {
    fn default() -> Self {
        Judge {
            min_grants: 2,
            progress_within: LeaseDuration::Ttl(3.0),
            max_overtakes: None,
        }
    }
}

/// The result that a scenario expects of a lock for one property. Files write it as text: `held`, `violated`,
/// `violated: CAUSE`, `any` or `any: REASON`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Expectation {
    /// The property holds.
    Held,
    /// The property is violated, by the cause after the colon if there is one.
    Violated {
        /// The required cause, or `None` if any cause will do.
        cause: Option<Cause>,
    },
    /// Either result is right.
    Any {
        /// Why the result cannot be predicted. The catalog always gives a reason.
        reason: Option<String>,
    },
}

/// The reason why a text is not an [`Expectation`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpectationError {
    /// The text does not have the form of an expectation.
    #[error(
        "`{0}` is not an expectation; expected \"held\", \"violated\", \"violated: CAUSE\" or \"any: REASON\""
    )]
    Form(String),
    /// The word after `violated:` is not a cause.
    #[error("unknown cause `{0}`, expected one of `{all}`", all = CAUSES.join("`, `"))]
    Cause(String),
}

impl TryFrom<String> for Expectation {
    type Error = ExpectationError;

    fn try_from(text: String) -> Result<Self, ExpectationError> {
        text.parse()
    }
}

impl FromStr for Expectation {
    type Err = ExpectationError;

    fn from_str(text: &str) -> Result<Self, ExpectationError> {
        let (status, rest) = match text.split_once(':') {
            Some((status, rest)) => (status.trim(), Some(rest.trim())),
            None => (text.trim(), None),
        };
        match (status, rest) {
            ("held", None) => Ok(Expectation::Held),
            ("any", reason) => Ok(Expectation::Any {
                reason: reason.filter(|it| !it.is_empty()).map(str::to_owned),
            }),
            ("violated", None) => Ok(Expectation::Violated { cause: None }),
            ("violated", Some(word)) => match Cause::named(word) {
                Some(cause) => Ok(Expectation::Violated { cause: Some(cause) }),
                None => Err(ExpectationError::Cause(word.to_owned())),
            },
            _ => Err(ExpectationError::Form(text.to_owned())),
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expectation::Held => f.write_str("held"),
            Expectation::Violated { cause: None } => f.write_str("violated"),
            Expectation::Violated { cause: Some(cause) } => write!(f, "violated: {cause}"),
            Expectation::Any { reason: None } => f.write_str("any"),
            Expectation::Any { reason: Some(why) } => write!(f, "any: {why}"),
        }
    }
}

impl From<Expectation> for String {
    fn from(expectation: Expectation) -> String {
        expectation.to_string()
    }
}

/// The cost of a lock that a scenario measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The cost of acquiring while nothing goes wrong and the lock is mostly free.
    Healthy,
    /// The cost of acquiring while many clients want one lock.
    Contended,
    /// The cost of acquiring around a failover that loses nothing.
    Failover,
    /// The share of requests that are granted while a minority of the nodes is unreachable.
    Minority,
}

//! Verdicts: what a history shows about each property, and why.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use picklock_scenarios::{Cause, Property, Responsible};

use super::inconclusive::InconclusiveReason;

/// Maximum number of lines of a story.
pub(super) const MAX_STORY_LINES: usize = 10;

/// The result for one property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The history is conclusive and shows no violation.
    Held,
    /// The history proves a violation.
    Violated,
    /// The history is inconclusive.
    Unknown,
    /// The property does not apply to this lock (fencing without tokens), or the scenario requires something that the
    /// lock or the backend does not offer.
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
    /// The story of a violation, in at most ten lines. For `unknown` and `not-applicable`, the messages of the reasons.
    /// For `held`, a remark, if there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub story: Vec<String>,
    /// The violation as a short clause, such as `two clients held the lock at once for 979 ms`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// The lines of the story that decide the violation, and the lines about the faults before it, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<Moment>,
    /// The reasons for `unknown`, or for `not-applicable` because of the scenario.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<InconclusiveReason>,
    /// Number of violations of this property.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub violations: u64,
    /// When the first violation became apparent, in nanoseconds since the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<u64>,
}

/// A line of a story that matters more than the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Index of the line in the story.
    pub line: usize,
    /// When it happened, in nanoseconds since the run began.
    pub at_ns: u64,
    /// Whether the line is the beginning of an injected fault, which explains later events but does not decide the
    /// violation.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_fault: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// One verdict for each property, in reading order.
pub type Verdicts = BTreeMap<Property, Verdict>;

impl Status {
    /// Returns the name that files and command lines use.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Held => "held",
            Status::Violated => "violated",
            Status::Unknown => "unknown",
            Status::NotApplicable => "not-applicable",
        }
    }

    /// Returns the symbol that reports use, for readers who cannot distinguish colours.
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
        f.pad(self.as_str())
    }
}

/// Returns `true` if a property is inconclusive because the machine was too slow. The run then proves nothing about the
/// lock, and may be rerun.
pub fn machine_was_too_slow(verdicts: &Verdicts) -> bool {
    let mut reasons = verdicts.values().flat_map(|verdict| &verdict.reasons);
    reasons.any(InconclusiveReason::is_machines_fault)
}

impl Verdict {
    /// Creates a verdict `held`.
    pub fn held() -> Self {
        Verdict {
            status: Status::Held,
            cause: None,
            story: Vec::new(),
            summary: String::new(),
            moments: Vec::new(),
            reasons: Vec::new(),
            violations: 0,
            at_ns: None,
        }
    }

    /// Creates a verdict `unknown` with the first [`MAX_STORY_LINES`] of these reasons.
    pub fn unknown(reasons: Vec<InconclusiveReason>) -> Self {
        Verdict::for_reasons(Status::Unknown, reasons)
    }

    /// Creates a verdict `not-applicable`, because the scenario requires something that is not offered.
    pub fn inapplicable(reasons: Vec<InconclusiveReason>) -> Self {
        Verdict::for_reasons(Status::NotApplicable, reasons)
    }

    fn for_reasons(status: Status, mut reasons: Vec<InconclusiveReason>) -> Self {
        reasons.truncate(MAX_STORY_LINES);
        Verdict {
            status,
            story: reasons.iter().map(InconclusiveReason::to_string).collect(),
            reasons,
            ..Verdict::held()
        }
    }

    /// Creates a verdict `not-applicable` without a reason.
    pub fn not_applicable() -> Self {
        Verdict::inapplicable(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::inconclusive::{StallContext, StarvationReason};
    use crate::history::MissedBecause;

    fn slow_machine_reasons() -> Vec<InconclusiveReason> {
        vec![
            InconclusiveReason::HarnessStall {
                late_ms: 200,
                until_ns: 1,
                during: StallContext::Hold,
                count: 1,
            },
            InconclusiveReason::HoldExtendedByStall {
                worker: 0,
                lost_ms: 200,
                until_ns: 1,
            },
            InconclusiveReason::LateInjection {
                worker: 0,
                waited_ns: 1,
                fault: "failover of node 0".into(),
            },
            InconclusiveReason::FaultOverran {
                fault: "crash-node of node 0".into(),
                lasted_ns: 1,
                late_ms: 200,
            },
            missed(Some(MissedBecause::NoFailover)),
            InconclusiveReason::UnrequestedFailover { node: 0 },
            InconclusiveReason::ClientGone {
                worker: 1,
                sent: "SET".into(),
            },
            InconclusiveReason::Starved {
                by: StarvationReason::MachineTooSlow(200),
            },
        ]
    }

    fn missed(because: Option<MissedBecause>) -> InconclusiveReason {
        InconclusiveReason::FaultMissed {
            fault: "sentinel-failover".into(),
            reason: "the Sentinels did not fail over node 0".into(),
            because,
        }
    }

    fn is_rerun(verdict: &Verdict) -> bool {
        machine_was_too_slow(&Verdicts::from([(Property::Lease, verdict.clone())]))
    }

    #[test]
    fn rerun_depends_on_the_reason_and_not_on_its_message() {
        let other_reasons = [
            missed(None),
            InconclusiveReason::ResourceExhaustion {
                reason: "the harness stalled for 200 ms".into(),
            },
            InconclusiveReason::NobodyCompeted,
            InconclusiveReason::Starved {
                by: StarvationReason::WrongClock,
            },
        ];
        let reasons = slow_machine_reasons()
            .into_iter()
            .map(|reason| (reason, true));
        for (reason, expected) in reasons.chain(other_reasons.map(|reason| (reason, false))) {
            let mut verdict = Verdict::unknown(vec![reason.clone()]);
            assert_eq!(is_rerun(&verdict), expected, "{reason:?}");
            verdict.story = vec!["in other words".into()];
            assert_eq!(is_rerun(&verdict), expected, "{reason:?}");
            verdict.story = vec![reason.to_string()];
            verdict.reasons.clear();
            assert!(!is_rerun(&verdict), "{reason:?}");
        }
    }

    /// A matrix does not rerun such a run, because the result would be the same.
    #[test]
    fn reason_is_lasting_if_a_rerun_cannot_change_it() {
        let lasting = [
            missed(Some(MissedBecause::Unable)),
            InconclusiveReason::CommandUnknown {
                command: "COPY".into(),
            },
            InconclusiveReason::OtherServers {
                worker: 0,
                nodes: Vec::new(),
            },
            InconclusiveReason::EverybodyDied,
            InconclusiveReason::TooFewClients {
                died: vec![0],
                left: 1,
            },
        ];
        let by_chance = [
            missed(None),
            InconclusiveReason::NobodyCompeted,
            InconclusiveReason::LeasesMayHaveOverlapped,
            InconclusiveReason::TooFewGrants {
                granted: 1,
                needed: 2,
                failed: None,
            },
        ];
        assert!(lasting.iter().all(InconclusiveReason::is_lasting));
        assert!(!by_chance.iter().any(InconclusiveReason::is_lasting));
        assert!(
            !slow_machine_reasons()
                .iter()
                .any(InconclusiveReason::is_lasting)
        );
    }

    #[test]
    fn reasons_survive_writing_and_reading() {
        let verdict = Verdict::unknown(slow_machine_reasons());
        let text = serde_json::to_string(&verdict).unwrap();
        assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict);
    }
}

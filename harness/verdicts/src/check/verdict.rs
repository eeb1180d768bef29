//! Verdicts: what a history says about each property, and why.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use picklock_scenarios::{Cause, Property, Responsible};

use super::inconclusive::InconclusiveReason;

/// A story has at most this many lines.
pub(super) const STORY_LINES: usize = 10;

/// The result for one property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Judged, and this history shows nothing against it.
    Held,
    /// The history proves a violation.
    Violated,
    /// Could not be decided.
    Unknown,
    /// Does not apply to this lock (fencing without tokens), or the scenario asks for something that the lock or the
    /// backend does not offer.
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
    /// For a violation: what happened, in at most ten lines. For `unknown`, and where the
    /// scenario is not applicable: the reasons in words. For `held`: what is to be said besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub story: Vec<String>,
    /// For `unknown`, and where the scenario is not applicable: the reasons. Older records have the words alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<InconclusiveReason>,
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
    pub fn as_str(self) -> &'static str {
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
        f.pad(self.as_str())
    }
}

/// True if something could not be judged because the machine was too slow: the run says nothing about the lock,
/// and may be made again.
pub fn machine_was_too_slow(verdicts: &Verdicts) -> bool {
    let mut reasons = verdicts.values().flat_map(|verdict| &verdict.reasons);
    reasons.any(InconclusiveReason::is_machines_fault)
}

impl Verdict {
    /// A verdict `held`.
    pub fn held() -> Self {
        Verdict {
            status: Status::Held,
            cause: None,
            story: Vec::new(),
            reasons: Vec::new(),
            violations: 0,
            at_ns: None,
        }
    }

    /// A verdict `unknown`, for these reasons. Only the first ones are kept.
    pub fn unknown(reasons: Vec<InconclusiveReason>) -> Self {
        Verdict::for_reasons(Status::Unknown, reasons)
    }

    /// A verdict `not-applicable`, because the scenario asks for what is not offered.
    pub fn inapplicable(reasons: Vec<InconclusiveReason>) -> Self {
        Verdict::for_reasons(Status::NotApplicable, reasons)
    }

    fn for_reasons(status: Status, mut reasons: Vec<InconclusiveReason>) -> Self {
        reasons.truncate(STORY_LINES);
        Verdict {
            status,
            story: reasons.iter().map(InconclusiveReason::to_string).collect(),
            reasons,
            ..Verdict::held()
        }
    }

    /// A verdict `not-applicable`.
    pub fn not_applicable() -> Self {
        Verdict::inapplicable(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::inconclusive::{StallContext, StarvationReason};
    use crate::history::MissedBecause;

    fn of_slow_machine() -> Vec<InconclusiveReason> {
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
                by: StarvationReason::HarnessStall(200),
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

    fn is_made_again(verdict: &Verdict) -> bool {
        machine_was_too_slow(&Verdicts::from([(Property::Lease, verdict.clone())]))
    }

    #[test]
    fn run_is_made_again_by_the_value_of_its_reason_and_not_by_its_words() {
        let of_others = [
            missed(None),
            InconclusiveReason::ResourceExhaustion {
                reason: "the harness stood still for 200 ms".into(),
            },
            InconclusiveReason::NobodyCompeted,
            InconclusiveReason::Starved {
                by: StarvationReason::WrongClock,
            },
        ];
        let reasons = of_slow_machine().into_iter().map(|reason| (reason, true));
        for (reason, again) in reasons.chain(of_others.map(|reason| (reason, false))) {
            let mut verdict = Verdict::unknown(vec![reason.clone()]);
            assert_eq!(is_made_again(&verdict), again, "{reason:?}");
            verdict.story = vec!["in other words".into()];
            assert_eq!(is_made_again(&verdict), again, "{reason:?}");
            verdict.story = vec![reason.to_string()];
            verdict.reasons.clear();
            assert!(!is_made_again(&verdict), "{reason:?}");
        }
    }

    /// A matrix makes such a run again in vain, with nothing beside it.
    #[test]
    fn reason_is_lasting_where_another_run_would_say_the_same() {
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
            },
        ];
        assert!(lasting.iter().all(InconclusiveReason::is_lasting));
        assert!(!by_chance.iter().any(InconclusiveReason::is_lasting));
        assert!(!of_slow_machine().iter().any(InconclusiveReason::is_lasting));
    }

    #[test]
    fn record_without_reasons_is_read_and_reasons_survive_writing() {
        let older = r#"{"status":"unknown","story":["the harness stood still"]}"#;
        let verdict: Verdict = serde_json::from_str(older).unwrap();
        assert_eq!(verdict.reasons, []);
        let verdict = Verdict::unknown(of_slow_machine());
        let text = serde_json::to_string(&verdict).unwrap();
        assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict);
    }
}

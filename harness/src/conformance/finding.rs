//! What came out of a check.

use serde::Serialize;

use crate::adapter::protocol_fault::{LINE_KEPT, MalformedLine, ProtocolFault, cut};

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// In words.
    pub what: String,
    /// The line that was received, cut. It may hold anything, control characters included.
    pub line: Option<String>,
    /// The paragraph of `docs/protocol.md`; `None`: that of the check.
    pub paragraph: Option<&'static str>,
    /// What other checks may find as well.
    pub mistake: Mistake,
}

/// What is wrong, as far as one mistake stops several checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mistake {
    /// It broke the protocol.
    Protocol(Box<ProtocolFault>),
    /// It answered `init` with `error`.
    NotReady,
    /// It did not grant a lock that was free, with this reply.
    NotGranted(&'static str),
    /// It did not refuse a lock that another client has, with this reply.
    NotRefused(&'static str),
    /// It could not use a lock whose lease was running, with this reply.
    LeaseNotUsed(&'static str),
    /// No other check finds it.
    OfCheck,
}

impl Mistake {
    /// True if it is the same one that has stopped another check.
    pub(super) fn is_that(&self, other: &Mistake) -> bool {
        match (self, other) {
            (Mistake::OfCheck, _) => false,
            (Mistake::Protocol(one), Mistake::Protocol(other)) => one.is_like(other),
            (one, other) => one == other,
        }
    }
}

impl Problem {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Problem {
            what: what.into(),
            line: None,
            paragraph: None,
            mistake: Mistake::OfCheck,
        }
    }

    pub(super) fn with_line(mut self, line: &str) -> Self {
        self.line = Some(cut(line, LINE_KEPT));
        self
    }

    /// Of a kind that other checks may find as well.
    pub(super) fn of(self, mistake: Mistake) -> Self {
        Problem { mistake, ..self }
    }

    /// By this paragraph, instead of that of the check.
    pub(super) fn by(mut self, paragraph: &'static str) -> Self {
        self.paragraph = Some(paragraph);
        self
    }
}

impl From<ProtocolFault> for Problem {
    fn from(fault: ProtocolFault) -> Self {
        // Where it says nothing, the paragraph of the check tells more than that of the request.
        let of_the_check = matches!(
            fault,
            ProtocolFault::NoAnswer { .. } | ProtocolFault::Ended { .. }
        );
        Problem {
            paragraph: (!of_the_check).then(|| fault.paragraph()),
            ..Problem::new(fault.to_string()).of(Mistake::Protocol(Box::new(fault)))
        }
    }
}

impl From<MalformedLine> for Problem {
    fn from(malformed: MalformedLine) -> Self {
        Problem::from(malformed.fault).with_line(&malformed.line)
    }
}

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckStatus {
    /// The adapter does what it should.
    Passed,
    /// It does not.
    Failed,
    /// It does not offer this, and need not.
    NotOffered,
    /// Not tried, because it did not get as far.
    NotRun,
}

/// How one check came out, as a document has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    /// The check.
    pub check: &'static str,
    /// What an adapter that passes does.
    pub about: &'static str,
    /// How it came out.
    pub status: CheckStatus,
    /// What is wrong, or a remark. May be empty.
    pub detail: String,
    /// The line that shows what is wrong, cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The end of the adapter's log, where it failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// Where the protocol says how it should be: `docs/protocol.md#release`.
    pub doc: String,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Whether both are told depends on what they are, and not on their words.
    #[test]
    fn fault_with_other_ids_and_times_is_the_same_mistake() {
        let silent = |op, seconds| ProtocolFault::NoAnswer {
            op,
            within: Duration::from_secs(seconds),
            wait: Duration::ZERO,
        };
        let protocol = |fault| Problem::from(fault).mistake;
        for (one, other, is_that) in [
            (
                protocol(silent("ping", 2)),
                protocol(silent("ping", 3)),
                true,
            ),
            (
                protocol(silent("ping", 2)),
                protocol(silent("acquire", 2)),
                false,
            ),
            (
                protocol(ProtocolFault::wrong_id(2, 7)),
                protocol(ProtocolFault::wrong_id(3, 8)),
                true,
            ),
            (
                Mistake::NotGranted("error"),
                Mistake::NotGranted("error"),
                true,
            ),
            (
                Mistake::NotGranted("error"),
                Mistake::NotGranted("refused"),
                false,
            ),
            (Mistake::OfCheck, Mistake::OfCheck, false),
        ] {
            assert_eq!(one.is_that(&other), is_that, "{one:?}, {other:?}");
        }
    }
}

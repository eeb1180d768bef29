//! The results of checks.

use serde::Serialize;

use crate::adapter::protocol_fault::{MAX_LINE_CHARS, MalformedLine, ProtocolFault, truncate};

/// A problem of an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A description for people.
    pub what: String,
    /// The line that was received, truncated. It may contain anything, including control characters.
    pub line: Option<String>,
    /// The section of `docs/protocol.md`, or `None` for the section of the check.
    pub section: Option<&'static str>,
    /// The mistake. It shows whether two checks have found the same problem.
    pub mistake: Mistake,
}

/// A mistake of an adapter that may stop several checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mistake {
    /// The adapter broke the protocol.
    Protocol(Box<ProtocolFault>),
    /// The adapter answered `init` with `error`.
    NotReady,
    /// The adapter answered an `acquire` of a free lock with this reply.
    NotGranted(&'static str),
    /// The adapter answered an `acquire` of a lock that another client holds with this reply.
    NotRefused(&'static str),
    /// The adapter answered a request about a lock whose lease was running with this reply.
    LeaseNotUsed(&'static str),
    /// A mistake that no other check can find.
    Unshared,
}

impl Mistake {
    /// Returns `true` if `other`, from another check, is the same mistake.
    pub(super) fn is_same(&self, other: &Mistake) -> bool {
        match (self, other) {
            (Mistake::Unshared, _) => false,
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
            section: None,
            mistake: Mistake::Unshared,
        }
    }

    pub(super) fn with_line(mut self, line: &str) -> Self {
        self.line = Some(truncate(line, MAX_LINE_CHARS));
        self
    }

    /// Sets the mistake, which other checks may find as well.
    pub(super) fn with_mistake(self, mistake: Mistake) -> Self {
        Problem { mistake, ..self }
    }

    /// Sets the section, which replaces the section of the check.
    pub(super) fn with_section(mut self, section: &'static str) -> Self {
        self.section = Some(section);
        self
    }
}

impl From<ProtocolFault> for Problem {
    fn from(fault: ProtocolFault) -> Self {
        // If there was no reply, the section of the check is more helpful than the section about the request.
        let use_section_of_check = matches!(
            fault,
            ProtocolFault::NoAnswer { .. } | ProtocolFault::Ended { .. }
        );
        Problem {
            section: (!use_section_of_check).then(|| fault.section()),
            ..Problem::new(fault.to_string()).with_mistake(Mistake::Protocol(Box::new(fault)))
        }
    }
}

impl From<MalformedLine> for Problem {
    fn from(malformed: MalformedLine) -> Self {
        Problem::from(malformed.fault).with_line(&malformed.line)
    }
}

/// The status of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckStatus {
    /// The adapter behaves as required.
    Passed,
    /// The adapter does not behave as required.
    Failed,
    /// The adapter does not offer this optional feature.
    NotOffered,
    /// The check was skipped, because the adapter failed before.
    NotRun,
}

/// The result of one check, as it is serialized.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    /// Name of the check.
    pub check: &'static str,
    /// The behaviour of an adapter that passes.
    pub about: &'static str,
    /// Status of the check.
    pub status: CheckStatus,
    /// The problem, or a remark. May be empty.
    pub detail: String,
    /// The line that shows the problem, truncated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The last lines of the adapter's log, if it broke the protocol.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// The command that shows the section of the documentation, such as `picklock docs protocol#release`.
    pub doc: String,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Mistakes are compared by their content, not by their messages.
    #[test]
    fn fault_with_other_ids_and_times_is_the_same_mistake() {
        let no_answer = |op, seconds| ProtocolFault::NoAnswer {
            op,
            within: Duration::from_secs(seconds),
            wait: Duration::ZERO,
        };
        let protocol = |fault| Problem::from(fault).mistake;
        for (one, other, is_same) in [
            (
                protocol(no_answer("ping", 2)),
                protocol(no_answer("ping", 3)),
                true,
            ),
            (
                protocol(no_answer("ping", 2)),
                protocol(no_answer("acquire", 2)),
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
            (Mistake::Unshared, Mistake::Unshared, false),
        ] {
            assert_eq!(one.is_same(&other), is_same, "{one:?}, {other:?}");
        }
    }
}

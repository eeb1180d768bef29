//! What came out of a check.

use serde::Serialize;

use super::check::Check;
use crate::adapter::protocol_fault::{LINE_KEPT, MalformedLine, ProtocolFault, cut};

/// What a check says of an adapter that did nothing wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// It does what it should. With a remark, which may be empty.
    Passed(String),
    /// It does not offer this, and need not. With the reason.
    NotOffered(String),
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Problem {
    /// In words.
    pub what: String,
    /// The line that was received, cut. It may hold anything, control characters included.
    pub line: Option<String>,
    /// The paragraph of `docs/protocol.md`; `None`: that of the check.
    pub paragraph: Option<&'static str>,
}

impl Problem {
    /// Without a line.
    pub(super) fn new(what: impl Into<String>) -> Self {
        Problem {
            what: what.into(),
            line: None,
            paragraph: None,
        }
    }

    /// With the line that shows it.
    pub(super) fn with_line(mut self, line: &str) -> Self {
        self.line = Some(cut(line, LINE_KEPT));
        self
    }

    /// By this paragraph, instead of that of the check.
    pub(super) fn by(self, paragraph: &'static str) -> Self {
        Problem {
            paragraph: Some(paragraph),
            ..self
        }
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
            ..Problem::new(fault.to_string())
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

impl CheckResult {
    /// Without anything that shows it.
    pub(super) fn of(check: &Check, status: CheckStatus, detail: String) -> Self {
        CheckResult {
            check: check.name,
            about: check.about,
            status,
            detail,
            line: None,
            log: Vec::new(),
            doc: doc(check.paragraph),
        }
    }

    /// The check has failed.
    pub(super) fn failed(check: &Check, problem: Problem, log: Vec<String>) -> Self {
        CheckResult {
            line: problem.line,
            log,
            doc: doc(problem.paragraph.unwrap_or(check.paragraph)),
            ..CheckResult::of(check, CheckStatus::Failed, problem.what)
        }
    }
}

fn doc(paragraph: &str) -> String {
    format!("docs/protocol.md#{paragraph}")
}

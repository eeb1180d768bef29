//! The scale on which cells, matrices and gate decisions are ranked.

use serde::Serialize;

/// The severity of a result, worst first. Cells, matrices and gate decisions share this scale, and so do their exit
/// codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// A result is unexpected, or a violation has no expectation.
    #[serde(rename = "differs")]
    Failed,
    /// Something failed to run.
    NotRun,
    /// Something is inconclusive.
    Inconclusive,
    /// Everything is as expected.
    AsExpected,
}

//! The outcome of a check, and the errors for which an adapter could not be checked.

use super::finding::{CheckStatus, Problem};
use crate::adapter::process::ProcessError;
use crate::servers::BackendError;

/// One of the two processes of the adapter, each of which is one client of the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    One,
    Two,
}

/// The outcome of a check: the status and a remark if the adapter made no mistake, and otherwise the reason why the
/// check stopped.
pub(super) type CheckEnd = Result<(CheckStatus, String), Stop>;

/// The reason why a check stopped early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The adapter has a problem. The next check can use its processes.
    Problem(Problem),
    /// This client broke the protocol, and must be killed.
    RequestAborted(Who, Problem),
    /// The check itself failed.
    Failed(ConformanceError),
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Stop::Problem(problem)
    }
}

impl<E: Into<ConformanceError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Failed(error.into())
    }
}

pub(super) fn passed() -> CheckEnd {
    passed_with("")
}

pub(super) fn passed_with(remark: impl Into<String>) -> CheckEnd {
    Ok((CheckStatus::Passed, remark.into()))
}

pub(super) fn not_offered(reason: impl Into<String>) -> CheckEnd {
    Ok((CheckStatus::NotOffered, reason.into()))
}

/// Returns a failure without a line that shows it.
pub(super) fn failed<T>(what: impl Into<String>) -> Result<T, Stop> {
    Err(Problem::new(what).into())
}

/// The reason why an adapter could not be checked, although it may be correct.
#[derive(Debug, thiserror::Error)]
pub enum ConformanceError {
    /// The adapter cannot be started.
    #[error(transparent)]
    Adapter(#[from] ProcessError),
    /// The server cannot be started, frozen or thawed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The link to the server cannot be opened.
    #[error("the link to the Redis server of the check cannot be opened: {0}")]
    Link(std::io::Error),
    /// The server does not answer.
    #[error("the Redis server of the check does not answer: {0}")]
    Unanswered(#[from] redis::RedisError),
}

/// Describes an outcome: `passed`, `not offered: …` or the problem.
#[cfg(test)]
pub(super) fn describe(outcome: CheckEnd) -> String {
    match outcome {
        Ok((CheckStatus::NotOffered, reason)) => format!("not offered: {reason}"),
        Ok(_) => "passed".into(),
        Err(Stop::Problem(problem)) => problem.what,
        Err(other) => format!("{other:?}"),
    }
}

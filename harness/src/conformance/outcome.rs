//! How a check ends, and why an adapter could not be checked.

use super::finding::{CheckStatus, Problem};
use crate::adapter::process::ProcessError;
use crate::servers::BackendError;

/// One of the two processes of the adapter. Each is one client of the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    One,
    Two,
}

/// How a check ends: what it says of an adapter that did nothing wrong, with a remark or a reason.
pub(super) type CheckEnd = Result<(CheckStatus, String), Stop>;

/// Why a check does not get to its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// The adapter does not do what it should. The next check may ask it.
    Problem(Problem),
    /// This client broke the protocol, and has to be killed.
    RequestAborted(Who, Problem),
    /// The check itself cannot go on.
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

/// Failed, where no line shows it.
pub(super) fn failed<T>(what: impl Into<String>) -> Result<T, Stop> {
    Err(Problem::new(what).into())
}

/// Why an adapter could not be checked. That is not its fault.
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

/// `passed`, `not offered: …` or what is wrong.
#[cfg(test)]
pub(super) fn words(outcome: CheckEnd) -> String {
    match outcome {
        Ok((CheckStatus::NotOffered, reason)) => format!("not offered: {reason}"),
        Ok(_) => "passed".into(),
        Err(Stop::Problem(problem)) => problem.what,
        Err(other) => format!("{other:?}"),
    }
}

//! Why an adapter could not be checked.

use crate::adapter::process::ProcessError;
use crate::servers::BackendError;

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

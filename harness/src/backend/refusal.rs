//! Why a backend did not do what it was asked to do.

use picklock_scenarios::BackendName;

/// Why a backend did not do what it was asked to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// This backend lacks the capability. The run cannot be judged, unless the fault is optional.
    #[error("the {backend} backend cannot do this: {what}")]
    Unable {
        /// The backend.
        backend: BackendName,
        /// What it lacks.
        what: String,
    },
    /// It should have worked, and did not.
    #[error("{0}")]
    Failed(String),
    /// The lock does not begin with Sentinels in place of its nodes, in its own words.
    #[error("it knows no Sentinels: {0}")]
    NoSentinels(String),
    /// The Sentinels were to fail a node over, and did not in time.
    #[error("{0}")]
    NoFailover(String),
}

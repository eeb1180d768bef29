//! Why a world did not do what it was asked to do.

use picklock_scenarios::WorldName;

/// Why a world did not do what it was asked to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// This world lacks the capability. The run cannot be judged, unless the fault is optional.
    #[error("the {world} world cannot do this: {what}")]
    Unable {
        /// The world.
        world: WorldName,
        /// What it lacks.
        what: String,
    },
    /// It should have worked, and did not.
    #[error("{0}")]
    Failed(String),
}

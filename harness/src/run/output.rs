//! What a run leaves.

use crate::history::History;
#[cfg(feature = "servers")]
use crate::real::RunDir;
use crate::record::{Phases, Redis};
use crate::wire::WireLog;

/// What a run leaves.
pub struct RunOutput {
    /// What happened.
    pub history: History,
    /// The servers.
    pub redis: Redis,
    /// How long the phases took.
    pub phases: Phases,
    /// The version that the subject reported, if it did.
    pub subject_version: Option<String>,
    /// The command log. A simulation has one only on demand.
    pub wire_log: Option<WireLog>,
    /// What workers and servers wrote; removed when dropped. `None` for a simulation.
    #[cfg(feature = "servers")]
    pub logs: Option<RunDir>,
}

//! What a run leaves.

use crate::history::History;
use crate::record::{Phases, Redis};
#[cfg(feature = "servers")]
use crate::servers::RunDir;
use crate::wire::WireLog;

/// What a run leaves.
pub struct RunOutput {
    /// What happened.
    pub history: History,
    /// The servers.
    pub redis: Redis,
    /// How long the phases took.
    pub phases: Phases,
    /// The version that the lock reported, if it did.
    pub lock_version: Option<String>,
    /// The command log. A simulation has one only on demand.
    pub wire_log: Option<WireLog>,
    /// What workers and servers wrote; removed when dropped. `None` for a simulation.
    #[cfg(feature = "servers")]
    pub logs: Option<RunDir>,
}

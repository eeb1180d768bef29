//! What came out of a run, the same for every backend.

use crate::context::SeenEvent;
use crate::history::History;
use crate::proxy::CommandLog;
use crate::record::{Phases, Redis};
#[cfg(feature = "servers")]
use crate::servers::RunDir;

/// What came out of a run: what the driver saw, completed by what only the backend knows.
#[derive(Debug)]
pub struct RunResult {
    /// What happened.
    pub history: History,
    /// The servers.
    pub redis: Redis,
    /// How long the phases took.
    pub phases: Phases,
    /// The version that the lock reported, if it did.
    pub lock_version: Option<String>,
    /// The command log. A simulation has one only on demand.
    pub command_log: Option<CommandLog>,
    /// Every event that a fault could have waited for, in order. Only of a simulation that logs its commands.
    pub seen_events: Vec<SeenEvent>,
    /// What workers and servers wrote; removed when dropped. `None` for a simulation.
    #[cfg(feature = "servers")]
    pub logs: Option<RunDir>,
    /// What the run could not remove from servers that somebody else has started, in words.
    pub left_behind: Option<String>,
}

impl RunResult {
    /// What the history alone says.
    pub fn from_history(history: History) -> RunResult {
        RunResult {
            history,
            redis: Redis::default(),
            phases: Phases::default(),
            lock_version: None,
            command_log: None,
            seen_events: Vec::new(),
            #[cfg(feature = "servers")]
            logs: None,
            left_behind: None,
        }
    }
}

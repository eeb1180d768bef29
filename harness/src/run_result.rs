//! The result of a run, which has the same form for every backend.

use crate::context::SeenEvent;
use crate::history::History;
use crate::proxy::CommandLog;
use crate::record::{Phases, Redis};
#[cfg(feature = "servers")]
use crate::servers::RunDir;

/// The result of a run: the driver's observations, completed with the information that only the backend has.
#[derive(Debug)]
pub struct RunResult {
    /// The events of the run.
    pub history: History,
    /// The servers.
    pub redis: Redis,
    /// Durations of the run's phases.
    pub phases: Phases,
    /// The version that the lock reported, or `None` if it reported none.
    pub lock_version: Option<String>,
    /// The command log. A simulation records it only on request.
    pub command_log: Option<CommandLog>,
    /// All events that a fault could have used as its trigger, in order. Only a simulation that logs its commands
    /// records them.
    pub seen_events: Vec<SeenEvent>,
    /// Directory with the logs of workers and servers, which is removed on drop. `None` for a simulation.
    #[cfg(feature = "servers")]
    pub logs: Option<RunDir>,
    /// Description of the keys that the run could not remove from external servers, or `None` if it removed all of
    /// them.
    pub left_behind: Option<String>,
}

impl RunResult {
    /// Creates a result that contains only a history.
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

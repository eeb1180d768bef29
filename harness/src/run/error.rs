use crate::driver::RunError;
#[cfg(feature = "servers")]
use crate::servers::{BackendError, ReaperError};
use crate::sim::SimError;

/// Why a run left no history.
#[derive(Debug, thiserror::Error)]
pub enum RunFailure {
    /// The simulation gave none.
    #[error(transparent)]
    Simulation(#[from] SimError),
    /// A worker could not be started on real servers.
    #[error("{error}{}", indented(log))]
    Worker {
        /// Which worker, and why.
        error: RunError,
        /// The last lines that it wrote to its standard error.
        log: Vec<String>,
    },
    /// The interrupt came before the workload began, or during a simulation.
    #[error("interrupted before there was anything to report")]
    Interrupted,
    /// The clean-up helper could not be started.
    #[cfg(feature = "servers")]
    #[error(transparent)]
    Reaper(#[from] ReaperError),
    /// The run did not begin because this process ran out of something.
    #[cfg(feature = "servers")]
    #[error("the harness itself ran short while the workers were started: {0}")]
    ResourceExhausted(String),
    /// The servers could not be started, or not be ended.
    #[cfg(feature = "servers")]
    #[error(transparent)]
    Servers(#[from] BackendError),
}

fn indented(log: &[String]) -> String {
    let lines = log
        .iter()
        .map(|line| format!("\n    {}", line.escape_debug()));
    lines.collect()
}

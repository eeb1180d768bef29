//! Errors of a run as a whole.

use crate::driver::RunError;
#[cfg(feature = "servers")]
use crate::servers::{BackendError, ReaperError};
use crate::sim::SimError;

/// The reason why a run left no history.
#[derive(Debug, thiserror::Error)]
pub enum RunFailure {
    /// The simulation failed.
    #[error(transparent)]
    Simulation(#[from] SimError),
    /// A worker could not be started on real servers.
    #[error("{error}{}", indented(log))]
    Worker {
        /// The error, which names the worker and the reason.
        error: RunError,
        /// The last lines that the worker wrote to its standard error.
        log: Vec<String>,
    },
    /// The interrupt arrived before the clients started, or during a simulation.
    #[error("interrupted before there was anything to report")]
    Interrupted,
    /// The clean-up helper could not be started.
    #[cfg(feature = "servers")]
    #[error(transparent)]
    Reaper(#[from] ReaperError),
    /// The run did not begin because this process ran out of a resource.
    #[cfg(feature = "servers")]
    #[error("the harness ran out of resources while it started the workers: {0}")]
    ResourceExhausted(String),
    /// The servers could not be started or stopped.
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

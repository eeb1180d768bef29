//! Errors of a trial that are not failed assertions.

use picklock_impls::OptionError;
use picklock_scenarios::{ScenarioError, nearest};

#[cfg(feature = "servers")]
use super::worker_entry::WorkerError;
use crate::run::RunFailure;

/// The reason why a trial did not run.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The scenario does not exist, is invalid, or does not fit the lock.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The trial has no seeds and therefore no runs.
    #[error("the trial has no seeds; set some with `seeds(0..20)`")]
    NoSeeds,
    /// The lock does not have this option, or the value is invalid.
    #[error("option {}: {source}{hint}", source.name())]
    Option {
        /// The underlying error.
        source: OptionError,
        /// A suggestion, or empty.
        hint: String,
    },
    /// There is nothing to search.
    #[error(transparent)]
    Sweep(#[from] crate::search::SweepError),
    /// A run produced no history.
    #[error("seed {seed}: {source}")]
    Run {
        /// Seed of the run.
        seed: u64,
        /// The underlying error.
        source: RunFailure,
    },
    /// The machine cannot run the trial on real servers.
    #[cfg(feature = "servers")]
    #[error(transparent)]
    Servers(#[from] crate::servers::BackendError),
    /// A worker of the trial, or the thread of its runs, failed.
    #[cfg(feature = "servers")]
    #[error(transparent)]
    Worker(#[from] WorkerError),
}

impl TrialError {
    pub(super) fn from_option(source: OptionError) -> Self {
        let meant = match &source {
            OptionError::Unknown { name, declared } => nearest(name, declared.iter().copied()),
            OptionError::Bad { .. } => None,
        };
        let hint = meant.map(|meant| format!("; did you mean `{meant}`?"));
        TrialError::Option {
            hint: hint.unwrap_or_default(),
            source,
        }
    }
}

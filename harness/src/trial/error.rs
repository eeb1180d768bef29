use picklock_impls::OptionError;
use picklock_scenarios::{ScenarioError, nearest};

#[cfg(feature = "servers")]
use super::worker_entry::WorkerError;
use crate::run::RunFailure;

/// Why a trial did not run.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// There is no such scenario, or its text is wrong, or it does not fit the lock.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// There are no seeds, so there is nothing to run.
    #[error("the trial has no seeds: `seeds(0..20)` gives it twenty")]
    NoSeeds,
    /// The lock has no such option, or its value makes no sense.
    #[error("option {}: {source}{hint}", source.name())]
    Option {
        /// What is wrong.
        source: OptionError,
        /// What was probably meant, as a sentence, or nothing.
        hint: String,
    },
    /// There is nothing to search.
    #[error(transparent)]
    Sweep(#[from] crate::search::SweepError),
    /// A run left no history.
    #[error("seed {seed}: {source}")]
    Run {
        /// Which run.
        seed: u64,
        /// Why.
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
    pub(super) fn of_option(source: OptionError) -> Self {
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

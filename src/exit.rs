//! Exit codes: part of the machine contract.

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use picklock_harness::driver::RunError;
use picklock_harness::run::RunFailure;
use picklock_harness::servers::BackendError;
use picklock_harness::sim::SimError;
use picklock_reports::escape::visible;
use picklock_reports::matrix::Severity;
use picklock_scenarios::ScenarioError;

/// All judged properties held.
pub const HELD: u8 = 0;
/// A property was violated.
pub const VIOLATED: u8 = 1;
/// Wrong usage, or a bad input file.
pub const USAGE: u8 = 2;
/// Too little happened to judge.
pub const INCONCLUSIVE: u8 = 3;
/// No Redis, no engine, no image, no port.
pub const ENVIRONMENT: u8 = 4;
/// Interrupted by the user.
pub const INTERRUPTED: u8 = 130;
/// A worker that SIGTERM has ended, after its clean-up.
pub const TERMINATED: u8 = 143;

/// Returns the exit code for the severity of a matrix or of a gate's decision.
pub fn from_severity(severity: Severity) -> u8 {
    match severity {
        Severity::Failed => VIOLATED,
        Severity::NotRun => ENVIRONMENT,
        Severity::Inconclusive => INCONCLUSIVE,
        Severity::AsExpected => HELD,
    }
}

/// The reason why a run has nothing to report.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line or a file is wrong.
    #[error("{0}")]
    Usage(String),
    /// This machine cannot run it.
    #[error("{0}")]
    Environment(String),
    /// The scenario needs something that the servers do not support.
    #[error("not applicable: {0}")]
    NotApplicable(String),
    /// The simulation of the lock does not end.
    #[error("{0}")]
    Stuck(String),
    /// The user stopped it before there was anything to report.
    #[error("interrupted before there was anything to report; nothing was left behind")]
    Interrupted,
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Failure::Usage(error.to_string())
    }
}

impl From<BackendError> for Failure {
    fn from(error: BackendError) -> Self {
        Failure::Environment(error.to_string())
    }
}

impl From<RunFailure> for Failure {
    fn from(failure: RunFailure) -> Self {
        match failure {
            RunFailure::Simulation(error @ (SimError::Stuck { .. } | SimError::Internal(_))) => {
                Failure::Stuck(error.to_string())
            }
            RunFailure::Worker { error, log } => not_started(&error, &log),
            RunFailure::Interrupted => Failure::Interrupted,
            other => Failure::Environment(other.to_string()),
        }
    }
}

impl Failure {
    /// Returns the failure of an operation on this file or directory, with the reason.
    pub fn at<E: Display>(what: &str, path: &Path) -> impl FnOnce(E) -> Failure {
        move |error| Failure::Environment(format!("cannot {what} {}: {error}", path.display()))
    }

    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Usage(_) => USAGE,
            Failure::Environment(_) => ENVIRONMENT,
            Failure::Stuck(_) | Failure::NotApplicable(_) => INCONCLUSIVE,
            Failure::Interrupted => INTERRUPTED,
        })
    }
}

/// Describes a worker that did not start, with the end of its log, which is often more specific than the error.
fn not_started(error: &RunError, log: &[String]) -> Failure {
    let RunError::Worker { worker, .. } = error else {
        return Failure::Interrupted;
    };
    // The log may already contain the adapter's own message.
    let error = error.to_string();
    let lines: Vec<_> = error.lines().map(visible).collect();
    let mut text = lines.join("\n");
    if !log.is_empty() {
        text.push_str(&format!("\n  worker {worker} wrote to its standard error:"));
        for line in log {
            text.push_str(&format!("\n    {}", visible(line)));
        }
    }
    Failure::Environment(text)
}

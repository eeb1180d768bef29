//! Exit codes: part of the machine contract.

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use picklock_harness::driver::RunError;
use picklock_harness::run::RunFailure;
use picklock_harness::servers::BackendError;
use picklock_harness::sim::SimError;
use picklock_reports::escape::shortened;
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_reports::matrix::Severity;
use picklock_scenarios::ScenarioError;

use crate::worker_stderr::MAX_LINE_LENGTH;

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
/// The program of the lock did not start. Only runs that are part of a matrix or a gate exit with this code; users see
/// the code of an environment problem.
pub const NOT_STARTED: u8 = 5;
/// Interrupted by the user.
pub const INTERRUPTED: u8 = 130;
/// SIGTERM ended a worker, after its clean-up.
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
#[derive(Debug)]
pub enum Failure {
    /// The command line or a file is wrong.
    Usage(Inert),
    /// This machine cannot run what the user requested.
    Environment(Inert),
    /// The program of the lock did not start.
    NotStarted {
        /// The reason, with the end of what the program printed.
        text: Inert,
        /// Whether the run is part of a matrix or a gate, which must distinguish it from other failures.
        is_child: bool,
    },
    /// The scenario needs something that the servers do not support.
    NotApplicable(Inert),
    /// The simulation of the lock does not end.
    Stuck(Inert),
    /// The user stopped the run before there was anything to report.
    Interrupted,
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Failure::Usage(Inert::lines(&error.to_string()))
    }
}

impl From<BackendError> for Failure {
    fn from(error: BackendError) -> Self {
        Failure::Environment(Inert::lines(&error.to_string()))
    }
}

impl From<RunFailure> for Failure {
    fn from(failure: RunFailure) -> Self {
        match failure {
            RunFailure::Simulation(error @ (SimError::Stuck { .. } | SimError::Internal(_))) => {
                Failure::Stuck(Inert::lines(&error.to_string()))
            }
            RunFailure::Worker { error, log } => not_started(&error, &log),
            RunFailure::Interrupted => Failure::Interrupted,
            other => Failure::Environment(Inert::lines(&other.to_string())),
        }
    }
}

impl Failure {
    /// Returns the failure of an operation on this file or directory, with the reason.
    pub fn at<E: Display>(what: &str, path: &Path) -> impl FnOnce(E) -> Failure {
        move |error| Failure::Environment(inert!("cannot {} {}: {}", what, path.display(), error))
    }

    /// Returns the message.
    pub fn text(&self) -> Inert {
        match self {
            Failure::Usage(text) | Failure::Environment(text) | Failure::Stuck(text) => {
                text.clone()
            }
            Failure::NotStarted { text, .. } => text.clone(),
            Failure::NotApplicable(text) => inert!("not applicable: {}", text),
            Failure::Interrupted => Inert::literal(
                "interrupted before there was anything to report; nothing is left to clean up",
            ),
        }
    }

    /// Returns the same failure for a run that is part of a matrix or a gate.
    #[must_use]
    pub fn in_child(self) -> Failure {
        match self {
            Failure::NotStarted { text, .. } => Failure::NotStarted {
                text,
                is_child: true,
            },
            other => other,
        }
    }

    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Usage(_) => USAGE,
            Failure::NotStarted { is_child: true, .. } => NOT_STARTED,
            Failure::Environment(_) | Failure::NotStarted { .. } => ENVIRONMENT,
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
    let mut text = Inert::lines(&error.to_string());
    if !log.is_empty() {
        text.push(&inert!(
            "\n  client {} wrote to its standard error:",
            worker
        ));
        for line in log {
            text.push(&inert!("\n    {}", shortened(line, MAX_LINE_LENGTH)));
        }
    }
    Failure::NotStarted {
        text,
        is_child: false,
    }
}

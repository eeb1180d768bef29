//! Exit codes: part of the machine contract.

use std::process::ExitCode;

/// All judged properties held.
pub const HELD: u8 = 0;
/// A property was violated.
pub const VIOLATED: u8 = 1;
/// Wrong usage, or a bad input file.
pub const USAGE: u8 = 2;
/// Too little to judge.
pub const INCONCLUSIVE: u8 = 3;
/// No Redis, no engine, no image, no port.
pub const ENVIRONMENT: u8 = 4;
/// Interrupted by the user.
pub const INTERRUPTED: u8 = 130;

/// Why there is nothing to report.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line or a file is wrong.
    #[error("{0}")]
    Usage(String),
    /// The machine cannot do it.
    #[error("{0}")]
    Environment(String),
    /// The subject cannot be simulated to an end.
    #[error("{0}")]
    Stuck(String),
    /// The user stopped it before there was anything to report.
    #[error("interrupted before the run began; nothing was left behind")]
    Interrupted,
}

impl Failure {
    /// The exit code for it.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Usage(_) => USAGE,
            Failure::Environment(_) => ENVIRONMENT,
            Failure::Stuck(_) => INCONCLUSIVE,
            Failure::Interrupted => INTERRUPTED,
        })
    }
}

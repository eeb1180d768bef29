//! The entry point of the worker processes of a trial, which are further processes of this binary.

use std::io;
use std::path::PathBuf;

use crate::adapter::serve::ServeError;
use crate::servers::ReaperError;

/// Environment variable with the role of a process that a trial started: [`REAPER`], or [`WORKER`] and a lock's name.
pub(super) const ROLE: &str = "PICKLOCK_TRIAL_ROLE";
pub(super) const REAPER: &str = "reaper";
pub(super) const WORKER: &str = "worker:";

/// Shell command that executes the program with its arguments, and passes the pipe for answers as descriptor 3.
const BECOME: &str = "exec \"$0\" \"$@\" 3>&1 1>&2";

/// The place where this binary calls [`serve_worker`](super::serve_worker).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerEntry {
    test: Option<String>,
}

impl WorkerEntry {
    /// Returns the entry point at the beginning of `main`, for an example, a program, or a test with `harness = false`.
    pub fn main() -> Self {
        WorkerEntry { test: None }
    }

    /// Returns the entry point in a `#[test]` of this test binary that does nothing else. `name` is the test's full
    /// name as `cargo test` prints it, such as `tests::picklock_worker`.
    pub fn test(name: &str) -> Self {
        WorkerEntry {
            test: Some(name.to_owned()),
        }
    }

    pub(super) fn code(&self) -> String {
        match &self.test {
            None => "WorkerEntry::main()".to_owned(),
            Some(name) => format!("WorkerEntry::test({name:?})"),
        }
    }

    /// Returns the command line that starts this binary in a role.
    pub(super) fn command(&self, role: &str) -> Result<Vec<String>, WorkerError> {
        let program = std::env::current_exe().map_err(WorkerError::Program)?;
        let program = program
            .into_os_string()
            .into_string()
            .map_err(|path| WorkerError::Path(PathBuf::from(path)))?;
        let role = format!("{ROLE}={role}");
        let mut words = vec!["env", &role, "sh", "-c", BECOME, &program];
        if let Some(name) = &self.test {
            words.extend([name, "--exact", "--nocapture"]);
        }
        Ok(words.into_iter().map(str::to_owned).collect())
    }
}

/// The reason why a process of a trial failed.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The path of this program is unknown.
    #[error("cannot find this program to start it as a worker: {0}")]
    Program(#[source] io::Error),
    /// The path cannot be used in a command line.
    #[error("the path {} is not UTF-8", .0.display())]
    Path(PathBuf),
    /// The runtime or its thread failed.
    #[error("cannot start the runtime: {0}")]
    Runtime(#[source] io::Error),
    /// The thread of the runs panicked, which is a defect of Picklock.
    #[error("the thread of the runs panicked")]
    Panicked,
    /// This binary was started as a clean-up helper, but did not behave like one.
    #[error(
        "{helper}\n  = help: this binary was started again for {}, but did not call serve_worker there",
        entry.code()
    )]
    NoEntry {
        /// The place where it should have called `serve_worker`.
        entry: WorkerEntry,
        /// The underlying error.
        helper: ReaperError,
    },
    /// This process was started for a trial in the given role, and began a trial itself.
    #[error("this process is the `{0}` of a trial, but did not call serve_worker first")]
    InRole(String),
    /// The trial runs a lock that was not passed to `serve_worker`.
    #[error("the trial runs the lock `{name}`, but serve_worker was given {}", known.join(", "))]
    Unknown {
        /// The lock of the trial.
        name: String,
        /// The locks that were passed.
        known: Vec<String>,
    },
    /// The pipe for answers does not exist or broke.
    #[error("cannot answer: {0}")]
    Answers(#[source] io::Error),
    /// The adapter protocol ended with an error.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

//! Where the worker processes of a trial come from: this binary, started again.

use std::io;
use std::path::PathBuf;

use crate::adapter::serve::ServeError;
use crate::servers::ReaperError;

/// Names the role of a process that a trial started: [`REAPER`], or [`WORKER`] and a lock's name.
pub(super) const ROLE: &str = "PICKLOCK_TRIAL_ROLE";
pub(super) const REAPER: &str = "reaper";
pub(super) const WORKER: &str = "worker:";

/// For a shell: becomes the program with its arguments; the pipe of the answers becomes descriptor 3.
const BECOME: &str = "exec \"$0\" \"$@\" 3>&1 1>&2";

/// Where this binary calls [`serve_worker`](super::serve_worker).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerEntry {
    test: Option<String>,
}

impl WorkerEntry {
    /// At the beginning of `main`: in an example, a program, or a test with `harness = false`.
    pub fn main() -> Self {
        WorkerEntry { test: None }
    }

    /// In a `#[test]` of this test binary that does nothing else. `name` is its full name, as
    /// `cargo test` prints it: `tests::picklock_worker`.
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

    /// The command line of this binary in a role.
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

/// Why a process of a trial failed.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// This program cannot be found again.
    #[error("cannot find this program to start it as a worker: {0}")]
    Program(#[source] io::Error),
    /// Its path does not fit into a command line.
    #[error("the path {} is not UTF-8", .0.display())]
    Path(PathBuf),
    /// The runtime or its thread failed.
    #[error("cannot start the runtime: {0}")]
    Runtime(#[source] io::Error),
    /// The thread of the runs ended early: a defect of Picklock.
    #[error("the thread of the runs panicked")]
    Panicked,
    /// This binary, started again, was no clean-up helper.
    #[error(
        "{helper}\n  = help: this binary was started again as {} says, and did not call serve_worker there",
        entry.code()
    )]
    NoEntry {
        /// Where it was to call it.
        entry: WorkerEntry,
        /// What was found instead.
        helper: ReaperError,
    },
    /// This process was started for a trial, and began one itself: the parameter is its role.
    #[error("this process is the `{0}` of a trial, and did not call serve_worker first")]
    InRole(String),
    /// The trial runs a lock that `serve_worker` does not know.
    #[error("the trial runs the lock `{name}`, but serve_worker was given {}", known.join(", "))]
    Unknown {
        /// The lock of the trial.
        name: String,
        /// The locks that were given.
        known: Vec<String>,
    },
    /// The pipe of the answers is not there, or broke.
    #[error("cannot answer: {0}")]
    Answers(#[source] io::Error),
    /// The adapter protocol ended with an error.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

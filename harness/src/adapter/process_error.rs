//! Errors of operations on worker processes: starting, freezing, resuming and killing them.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Maximum time that SIGSTOP may take to come into effect.
pub(super) const STOP_WITHIN: Duration = Duration::from_secs(5);

/// The reason why an operation on a worker process failed.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The command line contains no program.
    #[error("the command line of a worker is empty")]
    NoProgram,
    /// The worker's log cannot be opened.
    #[error("cannot open the worker's log {path}: {source}", path = path.display())]
    Log {
        /// Path of the log.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The program cannot be started.
    #[error("cannot start `{program}`: {source}{}", start_advice(source))]
    Start {
        /// The first word of its command line.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// The worker has ended already.
    #[error("the worker is gone: {0}")]
    Gone(String),
    /// The kernel refused a signal or the inspection of a process.
    #[error("cannot signal the worker: {0}")]
    Signal(#[from] io::Error),
    /// The worker did not stop after SIGSTOP.
    #[error("the worker did not stop within {STOP_WITHIN:?} after SIGSTOP")]
    DidNotStop,
    /// One of the worker's processes traces this process, which would stop with it.
    #[error("process {0} of the worker traces Picklock, which would stop with it")]
    Traces(u32),
    /// A request cannot be written, because the worker no longer reads.
    #[error("cannot send a request to the worker: {0}")]
    Send(#[source] io::Error),
}

/// Returns advice about a program that does not start.
fn start_advice(source: &io::Error) -> &'static str {
    /// The file has no `#!` line and is not a program of this machine.
    const NOT_EXECUTABLE: i32 = rustix::io::Errno::NOEXEC.raw_os_error();
    match source.kind() {
        io::ErrorKind::NotFound => {
            "; give its path, or a program on PATH (there is no shell: aliases and variables do not work)"
        }
        io::ErrorKind::PermissionDenied => {
            "; make it executable (`chmod +x`), or start it by its interpreter (`python3 FILE`)"
        }
        _ if source.raw_os_error() == Some(NOT_EXECUTABLE) => {
            "; start it by its interpreter (`python3 FILE`), or begin it with a `#!` line"
        }
        _ => "",
    }
}

impl ProcessError {
    /// Returns the system's error, if there is one.
    pub fn source_io(&self) -> Option<&io::Error> {
        std::error::Error::source(self)?.downcast_ref()
    }
}

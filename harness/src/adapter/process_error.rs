use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Longest time that a stop signal may take to come into effect.
pub(super) const STOP_WITHIN: Duration = Duration::from_secs(5);

/// Why something could not be done to a worker process.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// There is no program in the command line.
    #[error("the command line of a worker is empty")]
    NoProgram,
    /// Its log cannot be opened.
    #[error("cannot open the worker's log {path}: {source}", path = path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It cannot be started.
    #[error("cannot start `{program}`: {source}{}", start_advice(source))]
    Start {
        /// The first word of its command line.
        program: String,
        /// Why not.
        source: io::Error,
    },
    /// It is gone already.
    #[error("the worker is gone: {0}")]
    Gone(String),
    /// The kernel refused a signal, or to look at the process: what `?` makes of an error of the system.
    #[error("cannot signal the worker: {0}")]
    Signal(#[from] io::Error),
    /// It was told to stop, and did not.
    #[error("the worker did not stop within {STOP_WITHIN:?} after SIGSTOP")]
    DidNotStop,
    /// One of its processes traces this one, which would stop with it.
    #[error("process {0} of the worker traces Picklock, which would stop with it")]
    Traces(u32),
    /// A request cannot be written: the worker does not read any more.
    #[error("cannot send to the worker: {0}")]
    Send(#[source] io::Error),
}

/// What to do about a program that does not start.
fn start_advice(source: &io::Error) -> &'static str {
    /// The file has no `#!` line, and is no program of this machine.
    const NO_PROGRAM: i32 = rustix::io::Errno::NOEXEC.raw_os_error();
    match source.kind() {
        io::ErrorKind::NotFound => {
            "; give its path, or a program on PATH (there is no shell: aliases and variables do not work)"
        }
        io::ErrorKind::PermissionDenied => {
            "; make it executable (`chmod +x`), or start it by its interpreter (`python3 FILE`)"
        }
        _ if source.raw_os_error() == Some(NO_PROGRAM) => {
            "; start it by its interpreter (`python3 FILE`), or begin it with a `#!` line"
        }
        _ => "",
    }
}

impl ProcessError {
    /// What the system said, if it is the reason.
    pub fn source_io(&self) -> Option<&io::Error> {
        std::error::Error::source(self)?.downcast_ref()
    }
}

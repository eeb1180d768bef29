//! The end of a worker process in words, and whether it was killed from outside.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Signal;

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exit {
    /// A description, such as `exited with status 3` or `killed by signal 9 (SIGKILL)`.
    pub(super) description: String,
    /// Whether a signal from outside ended the process, such as a signal of the out-of-memory killer or of `kill`.
    pub(super) from_outside: bool,
}

/// Signals that a process does not send to itself. If such a signal ends the child of a shell, the shell exits with a
/// status of 128 plus the signal's number.
const OUTSIDE_SIGNALS: [Signal; 5] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::KILL,
    Signal::TERM,
];

fn is_from_outside(status: ExitStatus) -> bool {
    let signal = status.signal();
    let by_shell = status.code().and_then(|code| code.checked_sub(128));
    let is_outside_signal = |number: i32| {
        OUTSIDE_SIGNALS
            .iter()
            .any(|signal| signal.as_raw() == number)
    };
    signal.or(by_shell).is_some_and(is_outside_signal)
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        Exit {
            description: describe(status),
            from_outside: is_from_outside(status),
        }
    }
}

/// Describes an exit status, for example `exited with status 3` or `killed by signal 9 (SIGKILL)`.
pub(crate) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(number)) => match signal_name(number) {
            Some(name) => format!("killed by signal {number} ({name})"),
            None => format!("killed by signal {number}"),
        },
        (None, None) => format!("ended with {status}"),
    }
}

/// Returns the name of a signal that commonly ends a process.
fn signal_name(number: i32) -> Option<&'static str> {
    [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::TERM, "SIGTERM"),
    ]
    .into_iter()
    .find_map(|(signal, name)| (signal.as_raw() == number).then_some(name))
}

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Signal;

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exit {
    /// `exited with status 3`, `killed by signal 9 (SIGKILL)`.
    pub(super) words: String,
    /// A signal has ended it.
    pub(super) by_signal: bool,
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        Exit {
            words: in_words(status),
            by_signal: status.signal().is_some(),
        }
    }
}

/// `exited with status 3`, `killed by signal 9 (SIGKILL)`.
pub(crate) fn in_words(status: ExitStatus) -> String {
    if let Some(code) = status.code() {
        return format!("exited with status {code}");
    }
    match status.signal() {
        Some(number) => match signal_name(number) {
            Some(name) => format!("killed by signal {number} ({name})"),
            None => format!("killed by signal {number}"),
        },
        None => format!("ended with {status}"),
    }
}

/// The names of the signals that commonly end a process.
fn signal_name(number: i32) -> Option<&'static str> {
    let known = [
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
    ];
    known
        .iter()
        .find(|(signal, _)| signal.as_raw() == number)
        .map(|(_, name)| *name)
}

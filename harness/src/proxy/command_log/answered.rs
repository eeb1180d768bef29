//! Whether a server executed a command, as far as its reply shows it.

use memchr::memmem;

/// First words of the errors with which a server refuses a command before it executes it. `MONITOR` does not report
/// such commands (`rejectCommand` in Redis's server.c).
const REFUSALS: [&[u8]; 9] = [
    b"OOM",
    b"LOADING",
    b"MISCONF",
    b"READONLY",
    b"NOREPLICAS",
    b"CLUSTERDOWN",
    b"MASTERDOWN",
    b"NOAUTH",
    b"NOPERM",
];

/// The outcome of a request at its server, according to the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answered {
    /// The request was executed.
    Done,
    /// The request was executed and failed, or it is unknown whether it was executed.
    Failed,
    /// The request was refused before it was executed.
    Refused,
}

impl Answered {
    /// Classifies the text of an error, without the minus sign.
    pub(crate) fn from_error(text: &[u8]) -> Self {
        let word = text
            .split(|byte| byte.is_ascii_whitespace())
            .next()
            .unwrap_or_default();
        // An error that mentions a script was raised after the server had begun the script.
        let comes_from_script = || memmem::find(text, b"script").is_some();
        if word == b"BUSY" || REFUSALS.contains(&word) && !comes_from_script() {
            Answered::Refused
        } else {
            Answered::Failed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_command_differs_from_failed_script() {
        let refused = [
            "OOM command not allowed when used memory > 'maxmemory'.",
            "BUSY Redis is busy running a script. You can only call SCRIPT KILL.",
            "READONLY You can't write against a read only replica.\r\n",
            "NOAUTH",
        ];
        for text in refused {
            assert_eq!(
                Answered::from_error(text.as_bytes()),
                Answered::Refused,
                "{text}"
            );
        }
        let failed = [
            "WRONGTYPE Operation against a key holding the wrong kind of value",
            "OOM command not allowed when used memory > 'maxmemory'. script: 3, on @user_script:1.",
            "BUSYKEY Target key name already exists.",
            "",
        ];
        for text in failed {
            assert_eq!(
                Answered::from_error(text.as_bytes()),
                Answered::Failed,
                "{text}"
            );
        }
    }
}

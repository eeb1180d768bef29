use memchr::memmem;

/// The first words of the errors with which a server refuses a command before it executes it. MONITOR
/// does not tell about those (`rejectCommand` in Redis's server.c).
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

/// What a server made of a request, by its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answered {
    /// It was carried out.
    Done,
    /// It was executed, and failed; or it is not known whether it was executed.
    Failed,
    /// It was refused before it was executed.
    Refused,
}

impl Answered {
    /// By the text of an error, without the minus sign.
    pub(crate) fn error(text: &[u8]) -> Self {
        let word = text.split(|byte| byte.is_ascii_whitespace()).next();
        let word = word.unwrap_or_default();
        // The server had begun a script in which a command was refused, or which it then refused.
        let of_a_script = || memmem::find(text, b"script").is_some();
        let refused = word == b"BUSY" || REFUSALS.contains(&word) && !of_a_script();
        match refused {
            true => Answered::Refused,
            false => Answered::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_refused_and_a_script_fails() {
        let refused = [
            "OOM command not allowed when used memory > 'maxmemory'.",
            "BUSY Redis is busy running a script. You can only call SCRIPT KILL.",
            "READONLY You can't write against a read only replica.\r\n",
            "NOAUTH",
        ];
        for text in refused {
            assert_eq!(
                Answered::error(text.as_bytes()),
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
            assert_eq!(Answered::error(text.as_bytes()), Answered::Failed, "{text}");
        }
    }
}

//! Decides which commands are answered with a server error, and defines what the server receives instead.

use picklock_scenarios::ServerError;

use crate::model::CommandKind;

/// The words that a server receives in place of a command that the proxy answers: `GET` without a key. Every server
/// refuses this command without executing anything and without reporting it to observers, and lets the transaction fail
/// that contains it.
pub(crate) const REFUSED: &[&[u8]] = &[b"GET"];

/// [`REFUSED`] in RESP.
pub(in crate::proxy) const REFUSED_BYTES: &[u8] = b"*1\r\n$3\r\nGET\r\n";

/// Returns `true` if a server in the state of `error` refuses the command, which is in upper case. An unknown command
/// may write, so it is refused.
pub(in crate::proxy) fn refuses(error: ServerError, command: &str) -> bool {
    use CommandKind::{Exec, ReadingScript, Reads, Script, Server, SetUp, Transaction};
    if command.is_empty() {
        return false;
    }
    let Some(kind) = CommandKind::for_command(command, "") else {
        return true;
    };
    match error {
        ServerError::Readonly | ServerError::Misconf | ServerError::Noreplicas => {
            kind.writes() || kind == Script
        }
        ServerError::Clusterdown => kind.writes() || matches!(kind, Reads | Script | ReadingScript),
        ServerError::Loading | ServerError::Busy => {
            !matches!(kind, SetUp | Transaction | Exec) && (command, kind) != ("CONFIG", Server)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_refused_as_by_a_server_in_that_state() {
        let rows: [(&str, [bool; 4]); 9] = [
            // READONLY, NOREPLICAS, CLUSTERDOWN, LOADING
            ("SET", [true; 4]),
            ("EVALSHA", [true; 4]),
            ("DEL", [true; 4]),
            ("CAS.SET", [true; 4]),
            ("GET", [false, false, true, true]),
            ("SCRIPT", [false, false, false, true]),
            ("EXEC", [false; 4]),
            ("HELLO", [false; 4]),
            ("", [false; 4]),
        ];
        let errors = [
            ServerError::Readonly,
            ServerError::Noreplicas,
            ServerError::Clusterdown,
            ServerError::Loading,
        ];
        for (command, expected) in rows {
            let refused = errors.map(|error| refuses(error, command));
            assert_eq!(refused, expected, "{command}");
        }
    }
}

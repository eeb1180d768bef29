//! Commands that are answered with an error of the server: which ones, and what the server gets instead.

use picklock_scenarios::ServerError;

use crate::model::CommandKind;

/// The words that a server gets in the place of a command that is answered here. Every server refuses them
/// before it executes anything, does not tell an observer of them, and fails the transaction that they
/// belong to: `GET` without a key.
pub(crate) const REFUSED: &[&[u8]] = &[b"GET"];

/// The same as bytes.
pub(in crate::proxy) const REFUSED_BYTES: &[u8] = b"*1\r\n$3\r\nGET\r\n";

/// True if a server in that state refuses the command, given in upper case. A command that is not known
/// may do anything, so it is refused.
pub(in crate::proxy) fn refuses(error: ServerError, command: &str) -> bool {
    use CommandKind::{Exec, ReadingScript, Reads, Script, Server, SetUp, Transaction};
    if command.is_empty() {
        return false;
    }
    let Some(kind) = CommandKind::of(command, "") else {
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
    fn only_what_a_server_in_that_state_refuses_is_refused() {
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

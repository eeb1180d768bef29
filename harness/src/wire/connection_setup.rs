//! What a client says to set up a connection, before any command of a lock.

use picklock_scenarios::Direction;

use super::command::{CommandName, arguments};
use super::frame_budget::FrameBudget;
use super::frame_reader::{FrameReader, NextFrame};

/// Commands of client libraries for themselves. They change nothing that another connection sees.
const SET_UP: &[&str] = &[
    "AUTH", "CLIENT", "COMMAND", "ECHO", "HELLO", "INFO", "PING", "READONLY", "SELECT",
];

/// True if these first bytes of a connection only set it up, so that nothing is lost if no server ever sees
/// them. What is not whole at their end is no command, and has no effect either.
pub(super) fn only_sets_up(mut bytes: &[u8]) -> bool {
    let budget = FrameBudget::default();
    let mut reader = FrameReader::new(Direction::Request, budget.share());
    while !bytes.is_empty() {
        let room = reader.room();
        let count = room.len().min(bytes.len());
        room[..count].copy_from_slice(&bytes[..count]);
        reader.filled(count);
        bytes = &bytes[count..];
    }
    loop {
        match reader.next_frame() {
            NextFrame::Frame(extent) => {
                let frame = &reader.bytes()[extent.range];
                let name = arguments(frame, extent.shape).next();
                let name = name.map(|range| CommandName::new(&frame[range]));
                if name.is_none_or(|name| !SET_UP.contains(&name.as_str())) {
                    return false;
                }
            }
            NextFrame::More => return true,
            NextFrame::Unparseable(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::only_sets_up;

    #[test]
    fn a_command_of_a_lock_is_more_than_setting_up() {
        let hello = "*2\r\n$5\r\nhello\r\n$1\r\n3\r\n";
        let info = "*4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$8\r\nLIB-NAME\r\n$1\r\nx\r\n";
        let delete = "*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n";
        assert!(only_sets_up(b""));
        assert!(only_sets_up(format!("{hello}{info}").as_bytes()));
        assert!(!only_sets_up(format!("{hello}{delete}").as_bytes()));
        assert!(!only_sets_up(b"DEL k\r\n"));
        // Half a command is none.
        assert!(only_sets_up(
            format!("{hello}*2\r\n$3\r\nDEL\r\n").as_bytes()
        ));
        assert!(!only_sets_up(b"*1\r\nnonsense\r\n"));
    }
}

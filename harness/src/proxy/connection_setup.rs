//! What a client says that matters to nobody but itself: to set up a connection, to find the master, to
//! listen. Nothing is lost if no server ever sees it.

use picklock_scenarios::Direction;

use crate::model::CommandKind;
use crate::proxy::resp::command::{CommandName, arguments};
use crate::proxy::resp::frame_budget::FrameShare;
use crate::proxy::resp::frame_reader::FrameReader;

/// The first command in these first bytes of a connection that may matter to others; `None`: there is none.
/// What is not whole at their end is no command, and has no effect either.
pub(super) fn beyond_setup(mut bytes: &[u8]) -> Option<String> {
    let mut reader = FrameReader::new(Direction::Request, FrameShare::default());
    while !bytes.is_empty() {
        bytes = &bytes[reader.feed(bytes)..];
    }
    loop {
        match reader.next_frame() {
            Ok(Some(extent)) => {
                let frame = &reader.bytes()[extent.range];
                let mut words = arguments(frame, extent.shape);
                let mut name = || {
                    let word = words.next().map_or(&[][..], |range| &frame[range]);
                    CommandName::new(word)
                };
                let (command, subcommand) = (name(), name());
                let command = command.as_str();
                let kind = CommandKind::of(command, subcommand.as_str());
                if !command.is_empty() && kind != Some(CommandKind::SetUp) {
                    return Some(command.to_owned());
                }
            }
            Ok(None) => return None,
            Err(_) => return Some("what is no command".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::beyond_setup;

    /// Each line as a request.
    fn said(lines: &[&str]) -> Option<String> {
        let requests = lines.iter().map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let bulk = |word: &&str| format!("${}\r\n{word}\r\n", word.len());
            let bulks: String = words.iter().map(bulk).collect();
            format!("*{}\r\n{bulks}", words.len())
        });
        beyond_setup(requests.collect::<String>().as_bytes())
    }

    #[test]
    fn a_command_of_a_lock_is_more_than_setting_up() {
        let hello = ["hello 3", "CLIENT SETINFO LIB-NAME x"];
        assert_eq!(said(&[]), None);
        assert_eq!(said(&hello), None);
        assert_eq!(said(&["hello 3", "DEL k"]).as_deref(), Some("DEL"));
        assert_eq!(beyond_setup(b"DEL k\r\n").as_deref(), Some("DEL"));
        assert!(beyond_setup(b"*1\r\nnonsense\r\n").is_some());
        // Half a command is none.
        assert_eq!(beyond_setup(b"*2\r\n$3\r\nDEL\r\n"), None);
    }

    #[test]
    fn a_client_that_looks_for_the_master_changes_nothing() {
        assert_eq!(said(&["AUTH secret", "ROLE"]), None);
        assert_eq!(said(&["SENTINEL get-master-addr-by-name shop"]), None);
        let failover = said(&["SENTINEL MASTERS", "SENTINEL FAILOVER shop"]);
        assert_eq!(failover.as_deref(), Some("SENTINEL"));
        assert_eq!(said(&["SENTINEL"]).as_deref(), Some("SENTINEL"));
    }

    #[test]
    fn to_listen_is_no_command_that_others_see_but_to_publish_is() {
        assert_eq!(said(&["SUBSCRIBE channel", "UNSUBSCRIBE channel"]), None);
        let both = said(&["SUBSCRIBE channel", "PUBLISH channel free"]);
        assert_eq!(both.as_deref(), Some("PUBLISH"));
    }
}

//! Recognizes commands that affect only their own connection, because they set it up, find the master, or subscribe.
//! Their loss has no effect on a lock.

use picklock_scenarios::Direction;

use crate::model::CommandKind;
use crate::proxy::resp::command::{CommandName, arguments};
use crate::proxy::resp::frame_budget::FrameShare;
use crate::proxy::resp::frame_reader::FrameReader;

/// Returns the name of the first command in `bytes`, the start of a connection, that may affect other clients, or
/// `None` if there is none. An incomplete command at the end does not count, because a server would not execute it.
pub(super) fn first_command_beyond_setup(mut bytes: &[u8]) -> Option<String> {
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
                let kind = CommandKind::for_command(command, subcommand.as_str());
                if !command.is_empty() && kind != Some(CommandKind::SetUp) {
                    return Some(command.to_owned());
                }
            }
            Ok(None) => return None,
            Err(_) => return Some("bytes that are not a command".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::first_command_beyond_setup;

    /// Returns the first command that may affect other clients if each line is sent as a request.
    fn first_command(lines: &[&str]) -> Option<String> {
        let requests = lines.iter().map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let bulk = |word: &&str| format!("${}\r\n{word}\r\n", word.len());
            let bulks: String = words.iter().map(bulk).collect();
            format!("*{}\r\n{bulks}", words.len())
        });
        first_command_beyond_setup(requests.collect::<String>().as_bytes())
    }

    #[test]
    fn lock_command_is_more_than_setup() {
        let hello = ["hello 3", "CLIENT SETINFO LIB-NAME x"];
        assert_eq!(first_command(&[]), None);
        assert_eq!(first_command(&hello), None);
        assert_eq!(first_command(&["hello 3", "DEL k"]).as_deref(), Some("DEL"));
        assert_eq!(
            first_command_beyond_setup(b"DEL k\r\n").as_deref(),
            Some("DEL")
        );
        assert!(first_command_beyond_setup(b"*1\r\nnonsense\r\n").is_some());
        // An incomplete command does not count.
        assert_eq!(first_command_beyond_setup(b"*2\r\n$3\r\nDEL\r\n"), None);
    }

    #[test]
    fn looking_up_the_master_is_setup() {
        assert_eq!(first_command(&["AUTH secret", "ROLE"]), None);
        assert_eq!(
            first_command(&["SENTINEL get-master-addr-by-name shop"]),
            None
        );
        let failover = first_command(&["SENTINEL MASTERS", "SENTINEL FAILOVER shop"]);
        assert_eq!(failover.as_deref(), Some("SENTINEL"));
        assert_eq!(first_command(&["SENTINEL"]).as_deref(), Some("SENTINEL"));
    }

    #[test]
    fn subscribing_is_setup_and_publishing_is_not() {
        assert_eq!(
            first_command(&["SUBSCRIBE channel", "UNSUBSCRIBE channel"]),
            None
        );
        let both = first_command(&["SUBSCRIBE channel", "PUBLISH channel free"]);
        assert_eq!(both.as_deref(), Some("PUBLISH"));
    }
}

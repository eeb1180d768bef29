//! A line of the command log as the proxy writes it: as cheaply as possible, because each frame has one.
//! `log_entry.rs` has the form in which it is read.

use picklock_scenarios::{Direction, Phase};

use crate::proxy::LinkId;
use crate::proxy::command_log::log_entry::FrameOutcome;
use crate::proxy::resp::command::{CommandName, arguments};
use crate::proxy::resp::scan::Shape;

/// Maximum number of words of a command that the log shows.
const MAX_WORDS: usize = 12;

/// Maximum number of bytes of each word that the log shows, so that the text of a script does not displace the keys
/// after it.
const MAX_WORD_LENGTH: usize = 40;

/// The data that is appended to the command log for one frame. See [`crate::proxy::LogEntry`] for the fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogRecord {
    pub(crate) at_ns: u64,
    pub(crate) sent_ns: Option<u64>,
    pub(crate) link: LinkId,
    pub(crate) conn: u64,
    pub(crate) direction: Direction,
    pub(crate) command: CommandName,
    pub(crate) key: Option<u32>,
    pub(crate) op: u64,
    pub(crate) phase: Phase,
    pub(crate) size: usize,
    pub(crate) outcome: FrameOutcome,
}

/// Returns the preview of a frame for the log: the words of a command, or the text of any other frame.
pub(in crate::proxy) fn preview(frame: &[u8], shape: Shape) -> impl Iterator<Item = &[u8]> {
    let is_command = matches!(shape, Shape::Command | Shape::Inline);
    let text = (!is_command).then(|| preview_of_reply(frame));
    let arguments = arguments(frame, shape).map(|range| &frame[range]);
    text.into_iter().chain(preview_of_command(arguments))
}

/// Returns the preview, for the log, of a command that consists of `words`.
pub(crate) fn preview_of_command<'a>(
    words: impl Iterator<Item = &'a [u8]>,
) -> impl Iterator<Item = &'a [u8]> {
    let mut logins = Logins::default();
    words.take(MAX_WORDS).map(move |word| {
        if logins.is_secret(word) {
            return REDACTED;
        }
        &word[..word.len().min(MAX_WORD_LENGTH)]
    })
}

/// Replaces the words of a command that may be a password, as in Redis's own `MONITOR` output.
const REDACTED: &[u8] = b"(redacted)";

/// Finds the words of a command that may be a password. All words from the first possible password on count as secret,
/// because a word of an inline command ends at a blank, even within quotes.
#[derive(Default)]
struct Logins {
    words: usize,
    /// The first two words, in upper case and without quotes.
    command: String,
    found: bool,
}

impl Logins {
    /// Returns `true` if the next word of the command may be a password.
    fn is_secret(&mut self, word: &[u8]) -> bool {
        if self.found {
            return true;
        }
        if self.words > 0 && self.command.is_empty() {
            return false;
        }
        let is_quote = |byte: &u8| matches!(byte, b'"' | b'\'');
        let letters = word.iter().filter(|byte| !is_quote(byte));
        let letters = letters.take(MAX_WORD_LENGTH).copied().collect::<Vec<u8>>();
        let name = String::from_utf8_lossy(&letters).to_ascii_uppercase();
        self.words += 1;
        if self.words == 1 && !COMMANDS_WITH_LOGINS.contains(&name.as_str()) {
            return false;
        }
        if self.words <= 2 {
            self.command.push_str(&name);
            self.command.push(' ');
        }
        self.found = match self.command.as_str() {
            "AUTH " => true,
            "ACL SETUSER " => self.words == 3,
            "CONFIG SET " => is_login_setting(&name),
            command if command.starts_with("HELLO ") => name == "AUTH",
            command if command.starts_with("MIGRATE ") => matches!(&*name, "AUTH" | "AUTH2"),
            command if command.starts_with("SENTINEL ") => is_login_setting(&name),
            _ => false,
        };
        false
    }
}

/// The commands that may contain a password. The words of all other commands are not examined.
const COMMANDS_WITH_LOGINS: [&str; 6] = ["AUTH", "ACL", "CONFIG", "HELLO", "MIGRATE", "SENTINEL"];

/// Returns `true` if the setting with this name, in upper case, is a password or part of a login.
fn is_login_setting(name: &str) -> bool {
    let names = ["REQUIREPASS", "MASTERAUTH", "MASTERUSER", "PRIMARYAUTH"];
    names.contains(&name) || name == "PRIMARYUSER" || name.ends_with("-PASS")
}

/// Returns the preview of a reply for the log.
pub(crate) fn preview_of_reply(reply: &[u8]) -> &[u8] {
    reply.strip_suffix(b"\r\n").unwrap_or(reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(command: &str) -> String {
        let words = command.split(' ').map(str::as_bytes);
        let words: Vec<&[u8]> = preview_of_command(words).collect();
        String::from_utf8_lossy(&words.join(&b' ')).into_owned()
    }

    #[test]
    fn words_that_may_be_a_password_are_redacted() {
        for (command, begin) in [
            ("auth pw", "auth (redacted)"),
            ("AUTH user pw", "AUTH (redacted) (redacted)"),
            ("\"AUTH\" 'a pw'", "\"AUTH\" (redacted) (redacted)"),
            ("HELLO 3 auth user pw", "HELLO 3 auth (redacted)"),
            ("ACL SETUSER u on >pw", "ACL SETUSER u (redacted)"),
            (
                "config set requirepass pw",
                "config set requirepass (redacted)",
            ),
            (
                "CONFIG SET maxclients 9 masterauth pw",
                "CONFIG SET maxclients 9 masterauth (redacted)",
            ),
            (
                "CONFIG SET tls-key-file-pass pw",
                "CONFIG SET tls-key-file-pass (redacted)",
            ),
            (
                "MIGRATE h 1 k 0 9 COPY AUTH pw",
                "MIGRATE h 1 k 0 9 COPY AUTH (redacted)",
            ),
            (
                "MIGRATE h 1 k 0 9 AUTH2 u pw",
                "MIGRATE h 1 k 0 9 AUTH2 (redacted)",
            ),
            (
                "SENTINEL SET m auth-pass pw",
                "SENTINEL SET m auth-pass (redacted)",
            ),
        ] {
            let shown = shown(command);
            assert!(shown.starts_with(begin) && !shown.contains("pw"), "{shown}");
        }
        for same in [
            "SET auth pw NX",
            "GET AUTH",
            "ACL LIST",
            "HELLO 3 SETNAME n",
            "CONFIG SET maxclients 9",
        ] {
            assert_eq!(shown(same), same);
        }
    }
}

use picklock_scenarios::{Direction, Phase};

use crate::proxy::LinkId;
use crate::proxy::command_log::log_entry::FrameOutcome;
use crate::proxy::resp::command::{CommandName, arguments};
use crate::proxy::resp::scan::Shape;

/// Maximum number of words of a command that the log shows.
const MAX_WORDS: usize = 12;

/// Maximum number of bytes of each word that the log shows: a script's text must not hide the keys after it.
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

/// Returns what the log shows of a frame: the words of a command, or the text of anything else.
pub(in crate::proxy) fn preview(frame: &[u8], shape: Shape) -> impl Iterator<Item = &[u8]> {
    let is_command = matches!(shape, Shape::Command | Shape::Inline);
    let text = (!is_command).then(|| preview_of_reply(frame));
    let arguments = arguments(frame, shape).map(|range| &frame[range]);
    text.into_iter().chain(preview_of_command(arguments))
}

/// Returns what the log shows of a command that consists of `words`.
pub(crate) fn preview_of_command<'a>(
    words: impl Iterator<Item = &'a [u8]>,
) -> impl Iterator<Item = &'a [u8]> {
    words
        .take(MAX_WORDS)
        .map(|word| &word[..word.len().min(MAX_WORD_LENGTH)])
}

/// Returns what the log shows of a reply in RESP.
pub(crate) fn preview_of_reply(reply: &[u8]) -> &[u8] {
    reply.strip_suffix(b"\r\n").unwrap_or(reply)
}

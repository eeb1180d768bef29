//! A frame on its way through the wire.

use super::command::{CommandName, Expect, Request, arguments};
use super::pending::Asked;
use super::scan::Shape;
use super::stamp::Stamp;

/// Words of a command that the log shows.
pub(super) const WORDS: usize = 12;

/// So much of each word: a script's text must not hide the keys behind it.
pub(super) const WORD: usize = 40;

/// A frame on its way through the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Passage {
    /// When it came, on the run's clock.
    pub at_ns: u64,
    /// What it asks, or what it answers.
    pub asked: Asked,
    /// How it is built.
    pub shape: Shape,
}

impl Passage {
    /// Something that neither asks nor answers: a message, or bytes that are no frame.
    pub(super) fn unasked(at_ns: u64, stamp: Stamp, shape: Shape) -> Self {
        Passage {
            at_ns,
            asked: Asked {
                request: Request {
                    name: CommandName::NONE,
                    key: None,
                    expect: Expect::Nothing,
                },
                stamp,
            },
            shape,
        }
    }

    /// True for bytes that are no frame.
    pub(super) fn is_raw(&self) -> bool {
        self.shape == Shape::Raw
    }

    /// True for a command or a reply: what a watcher sees, and what a fault can swallow.
    pub(super) fn is_message(&self) -> bool {
        !matches!(self.shape, Shape::Raw | Shape::Blank)
    }
}

/// What the log shows of a frame: the words of a command, the text of anything else.
pub(super) fn words(frame: &[u8], shape: Shape) -> impl Iterator<Item = &[u8]> {
    let is_command = matches!(shape, Shape::Command | Shape::Inline);
    let text = (!is_command).then(|| frame.strip_suffix(b"\r\n").unwrap_or(frame));
    let arguments = arguments(frame, shape).map(|range| {
        let word = &frame[range];
        &word[..word.len().min(WORD)]
    });
    text.into_iter().chain(arguments.take(WORDS))
}

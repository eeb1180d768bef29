//! Lines of the command log that no wire of ours has seen: those of the simulated network.

use picklock_scenarios::{Direction, Phase};

use super::LinkId;
use super::command::{CommandName, Expect, Request};
use super::entry::Outcome;
use super::log::{Record, WireLog};
use super::passage::{WORD, WORDS};
use super::pending::Asked;
use super::stamp::Stamp;

/// What a network says of a frame. See [`super::Entry`] for what each number means.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passed<'a> {
    pub(crate) at_ns: u64,
    pub(crate) sent_ns: Option<u64>,
    pub(crate) link: LinkId,
    pub(crate) conn: u64,
    pub(crate) direction: Direction,
    /// In capitals.
    pub(crate) command: &'a str,
    pub(crate) key: Option<u32>,
    pub(crate) op: u64,
    pub(crate) phase: Phase,
    pub(crate) size: usize,
    pub(crate) outcome: Outcome,
}

impl WireLog {
    /// Writes down a command, of which these are the words.
    pub(crate) fn command<'t>(&self, passed: &Passed<'_>, words: impl Iterator<Item = &'t [u8]>) {
        let words = words.take(WORDS).map(|word| &word[..word.len().min(WORD)]);
        self.append().push(&passed.record(), words);
    }

    /// Writes down a reply, as it stands on the wire.
    pub(crate) fn reply(&self, passed: &Passed<'_>, text: &[u8]) {
        let text = text.strip_suffix(b"\r\n").unwrap_or(text);
        self.append().push(&passed.record(), std::iter::once(text));
    }
}

impl Passed<'_> {
    fn record(&self) -> Record {
        Record {
            at_ns: self.at_ns,
            sent_ns: self.sent_ns,
            link: self.link,
            conn: self.conn,
            direction: self.direction,
            asked: Asked {
                request: Request {
                    name: CommandName::new(self.command.as_bytes()),
                    key: self.key,
                    expect: Expect::Answer,
                },
                stamp: Stamp {
                    op: self.op,
                    phase: self.phase,
                },
            },
            size: self.size,
            outcome: self.outcome,
        }
    }
}

//! The replies in what a server sends, one after another.

use picklock_scenarios::Direction;

use super::address_rewrite::words;
use super::frame_budget::FrameShare;
use super::frame_reader::FrameReader;

/// Finds the whole replies in bytes that come in pieces.
#[derive(Debug)]
pub struct ReplyStream(FrameReader);

impl Default for ReplyStream {
    fn default() -> Self {
        ReplyStream(FrameReader::new(Direction::Reply, FrameShare::default()))
    }
}

impl ReplyStream {
    /// More has come. The replies that were found before are forgotten.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        self.0.consume();
        while !bytes.is_empty() {
            bytes = &bytes[self.0.feed(bytes)..];
        }
    }

    /// The next reply; `None`: not all of it has come.
    ///
    /// # Errors
    /// It is not RESP, or too long: why.
    pub fn next_reply(&mut self) -> Result<Option<&[u8]>, &'static str> {
        let found = self.0.next_frame()?;
        Ok(found.map(|extent| &self.0.bytes()[extent.range]))
    }
}

/// The bulk strings in a whole reply, at any depth.
pub(crate) fn bulk_strings(reply: &[u8]) -> Vec<&[u8]> {
    let words = words(reply).into_iter();
    words.map(|range| &reply[range]).collect()
}

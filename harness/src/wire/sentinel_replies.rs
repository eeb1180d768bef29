//! What a Sentinel sends, with its addresses replaced.

use picklock_scenarios::Direction;

use super::address_rewrite::{AddressMap, rewrite_addresses};
use super::frame_budget::FrameShare;
use super::frame_reader::{FrameReader, NextFrame};

/// Finds the replies in what a Sentinel sends, and replaces the addresses in them.
pub struct SentinelReplies {
    reader: FrameReader,
}

impl Default for SentinelReplies {
    fn default() -> Self {
        SentinelReplies {
            reader: FrameReader::new(Direction::Reply, FrameShare::default()),
        }
    }
}

impl SentinelReplies {
    /// Room to read into; never empty.
    pub fn room(&mut self) -> &mut [u8] {
        self.reader.room()
    }

    /// This many bytes were read into the room. Returns the whole replies among what has come, with the
    /// addresses replaced that are in the map.
    ///
    /// # Errors
    /// It is not RESP: an address that was not replaced would lead past the wire.
    pub fn filled(&mut self, count: usize, map: &AddressMap) -> Result<Vec<u8>, &'static str> {
        self.reader.filled(count);
        let mut replies = Vec::new();
        loop {
            match self.reader.next_frame() {
                NextFrame::Frame(extent) => {
                    let reply = &self.reader.bytes()[extent.range];
                    replies.extend(rewrite_addresses(reply, map));
                }
                NextFrame::More => break,
                NextFrame::Unparseable(reason) => return Err(reason),
            }
        }
        self.reader.consume();
        Ok(replies)
    }
}

//! Splits a server's byte stream into replies.

use std::io;

use picklock_scenarios::Direction;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};

use crate::proxy::resp::frame_budget::FrameShare;
use crate::proxy::resp::frame_reader::FrameReader;
use crate::proxy::resp::reply_items::items;

/// Maximum number of bytes to read at once.
pub(in crate::proxy) const CHUNK: usize = 4 << 10;

/// Finds the complete replies in bytes that arrive in pieces.
#[derive(Debug)]
pub struct ReplyStream(FrameReader);

impl Default for ReplyStream {
    fn default() -> Self {
        ReplyStream(FrameReader::new(Direction::Reply, FrameShare::default()))
    }
}

impl ReplyStream {
    /// Adds bytes, and discards the replies that were returned before.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        self.0.consume();
        while !bytes.is_empty() {
            bytes = &bytes[self.0.feed(bytes)..];
        }
    }

    /// Returns the next reply, or `None` if it is still incomplete.
    ///
    /// # Errors
    /// Returns the reason if the bytes are not RESP, or the reply is too long.
    pub fn next_reply(&mut self) -> Result<Option<&[u8]>, &'static str> {
        let found = self.0.next_frame()?;
        Ok(found.map(|extent| &self.0.bytes()[extent.range]))
    }
}

/// Returns the bulk strings in a complete reply, at any nesting depth.
pub(crate) fn bulk_strings(reply: &[u8]) -> Vec<&[u8]> {
    items(reply)
        .into_iter()
        .filter(|item| item.is_word)
        .map(|item| item.bytes)
        .collect()
}

/// Forwards a server's replies, each rewritten by `rewrite`, until the stream ends.
pub(in crate::proxy) async fn forward_replies(
    server: &mut ReadHalf<'_>,
    client: &mut WriteHalf<'_>,
    rewrite: impl Fn(&[u8]) -> Vec<u8>,
) -> io::Result<()> {
    let (mut replies, mut chunk) = (ReplyStream::default(), [0; CHUNK]);
    loop {
        match server.read(&mut chunk).await? {
            0 => return Ok(()),
            count => replies.feed(&chunk[..count]),
        }
        let mut whole = Vec::new();
        // Fail if the bytes are not RESP, because an address that is not replaced would lead past the proxy.
        while let Some(reply) = replies.next_reply().map_err(io::Error::other)? {
            whole.extend(rewrite(reply));
        }
        client.write_all(&whole).await?;
    }
}

//! The replies in what a server sends, one after another.

use std::io;

use picklock_scenarios::Direction;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};

use crate::proxy::addresses::address_rewrite::items;
use crate::proxy::resp::frame_budget::FrameShare;
use crate::proxy::resp::frame_reader::FrameReader;

/// How much is read at once, bytes.
pub(in crate::proxy) const CHUNK: usize = 4 << 10;

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
    let words = items(reply).into_iter().filter(|item| item.is_word);
    words.map(|word| word.bytes).collect()
}

/// Forwards what a server sends until it ends, each reply as `rewrite` makes it.
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
        // Not RESP: an address that was not replaced would lead past the proxy.
        while let Some(reply) = replies.next_reply().map_err(io::Error::other)? {
            whole.extend(rewrite(reply));
        }
        client.write_all(&whole).await?;
    }
}

//! Lines of text from an untrusted program, with a limit on their length.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Maximum length of a line, in bytes: a misbehaving program must not fill the memory.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Without its newline; bytes that are not UTF-8 are replaced.
    Whole(String),
    /// Longer than [`MAX_LINE_BYTES`]: its beginning. The rest is discarded as it arrives.
    TooLong(String),
}

/// Reads lines. A last line without a newline is dropped, because its writer was interrupted.
pub struct LineReader<R> {
    input: R,
    partial: Vec<u8>,
    skipping: bool,
}

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    /// Reads from `input`.
    pub fn new(input: R) -> Self {
        LineReader {
            input,
            partial: Vec::new(),
            skipping: false,
        }
    }

    /// The next line; `None` at the end. Cancel-safe: what was read so far is kept.
    ///
    /// # Errors
    /// The input cannot be read.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(None);
            }
            let newline = memchr::memchr(b'\n', available);
            let chunk = &available[..newline.unwrap_or(available.len())];
            let room = MAX_LINE_BYTES - self.partial.len();
            let was_skipping = self.skipping;
            let too_long = !was_skipping && chunk.len() > room;
            if !was_skipping {
                self.partial
                    .extend_from_slice(&chunk[..chunk.len().min(room)]);
            }
            let used = chunk.len() + usize::from(newline.is_some());
            self.input.consume(used);

            self.skipping = (was_skipping || too_long) && newline.is_none();
            if too_long {
                return Ok(Some(Line::TooLong(self.take())));
            }
            if newline.is_some() && !was_skipping {
                return Ok(Some(Line::Whole(self.take())));
            }
        }
    }

    /// The beginning of a line whose end has not come.
    pub fn unfinished(&self) -> String {
        String::from_utf8_lossy(&self.partial).into_owned()
    }

    fn take(&mut self) -> String {
        let bytes = std::mem::take(&mut self.partial);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(input: &[u8]) -> Vec<Line> {
        // A small buffer, so that lines come in pieces.
        let mut lines = LineReader::new(tokio::io::BufReader::with_capacity(7, input));
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            seen.push(line);
        }
        seen
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.into())
    }

    #[tokio::test]
    async fn lines_are_whole_and_a_cut_off_one_is_none() {
        let seen = all(b"one\n\na rather long line\ncut o").await;
        assert_eq!(seen, [whole("one"), whole(""), whole("a rather long line")]);
    }

    #[tokio::test]
    async fn a_line_of_the_longest_length_is_whole_and_a_longer_one_is_skipped() {
        for excess in [0, 1, 100_000] {
            let mut input = vec![b'x'; MAX_LINE_BYTES + excess];
            input.extend_from_slice(b"\nafter\n");
            let seen = all(&input).await;
            let expected = "x".repeat(MAX_LINE_BYTES);
            match excess {
                0 => assert_eq!(seen[0], Line::Whole(expected)),
                _ => assert_eq!(seen[0], Line::TooLong(expected)),
            }
            assert_eq!(seen[1..], [whole("after")], "{excess}");
        }
    }

    #[tokio::test]
    async fn a_cancelled_read_loses_nothing() {
        let (mut writer, reader) = tokio::io::duplex(64);
        let mut lines = LineReader::new(tokio::io::BufReader::new(reader));
        tokio::io::AsyncWriteExt::write_all(&mut writer, b"half ")
            .await
            .unwrap();
        {
            let mut read = std::pin::pin!(lines.next());
            assert!(futures_util::poll!(&mut read).is_pending());
        }
        tokio::io::AsyncWriteExt::write_all(&mut writer, b"and half\n")
            .await
            .unwrap();
        assert_eq!(lines.next().await.unwrap(), Some(whole("half and half")));
    }
}

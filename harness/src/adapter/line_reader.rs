//! Lines of text from an untrusted program, with a limit on their length.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Maximum length of a line in bytes, so that a misbehaving program cannot exhaust the memory.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A line without its newline. Bytes that are not UTF-8 are replaced.
    Whole(String),
    /// The beginning of a line that is longer than [`MAX_LINE_BYTES`]. The rest is discarded as it arrives.
    TooLong(String),
}

/// Reads lines. A last line without a newline is dropped, because its writer was interrupted.
pub struct LineReader<R> {
    input: R,
    partial: Vec<u8>,
    skipping: bool,
}

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    /// Creates a reader of `input`.
    pub fn new(input: R) -> Self {
        LineReader {
            input,
            partial: Vec::new(),
            skipping: false,
        }
    }

    /// Returns the next line, or `None` at the end of the input. Cancel-safe: a partial line is kept.
    ///
    /// # Errors
    /// Returns an error if the input cannot be read.
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

    /// Returns the beginning of a line that is still incomplete.
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
        // A small buffer, so that lines arrive in pieces.
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
    async fn lines_are_complete_and_an_unterminated_one_is_dropped() {
        let seen = all(b"one\n\na rather long line\ncut o").await;
        assert_eq!(seen, [whole("one"), whole(""), whole("a rather long line")]);
    }

    #[tokio::test]
    async fn longest_line_is_complete_and_a_longer_one_is_skipped() {
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
    async fn cancelled_read_loses_nothing() {
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

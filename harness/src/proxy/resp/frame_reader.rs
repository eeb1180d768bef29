//! The reading end of one direction: a buffer, and the scan that splits its content into frames.

use std::ops::Range;

use picklock_scenarios::Direction;

use crate::proxy::resp::frame_budget::FrameShare;
use crate::proxy::resp::reply_scan::ReplyScan;
use crate::proxy::resp::request_scan::RequestScan;
use crate::proxy::resp::scan::{MAX_FRAME_LENGTH, Shape, Stop};

/// Size of a new buffer in bytes. It is small because there may be thousands of connections, most of which carry short
/// commands.
const SMALL: usize = 8 << 10;

/// Size in bytes up to which a buffer grows if reads fill it completely.
const BIG: usize = 256 << 10;

/// Reason why a connection becomes a byte pipe if the frame budget is exceeded.
const BUDGET_EXCEEDED: &str = "unfinished frames that exceed the buffer budget";

/// A complete frame: its position in the buffer, and its structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::proxy) struct Extent {
    pub range: Range<usize>,
    pub shape: Shape,
}

#[derive(Debug)]
enum Scan {
    Request(RequestScan),
    Reply(ReplyScan),
}

/// Buffers received bytes, and finds the ends of the frames in them.
#[derive(Debug)]
pub(in crate::proxy) struct FrameReader {
    buffer: Vec<u8>,
    /// Number of bytes of the buffer that are filled.
    filled: usize,
    /// Start of the first incomplete frame.
    cursor: usize,
    /// Minimum length of that frame.
    need: usize,
    /// Whether bytes are taken without framing. No bytes are kept then, so a small buffer is enough.
    is_raw: bool,
    scan: Scan,
    share: FrameShare,
}

impl FrameReader {
    pub(in crate::proxy) fn new(direction: Direction, share: FrameShare) -> Self {
        FrameReader {
            buffer: Vec::new(),
            filled: 0,
            cursor: 0,
            need: 1,
            is_raw: false,
            share,
            scan: match direction {
                Direction::Request => Scan::Request(RequestScan::default()),
                Direction::Reply => Scan::Reply(ReplyScan::default()),
            },
        }
    }

    /// Returns free space to read into, which is never empty.
    pub(in crate::proxy) fn room(&mut self) -> &mut [u8] {
        if self.filled == self.buffer.len() {
            let length = self.buffer.len();
            // The buffer of a long frame grows in smaller steps, because many connections may have a long frame.
            let more = if length < BIG { length } else { length / 4 };
            self.buffer.resize(length + more.max(SMALL), 0);
        }
        &mut self.buffer[self.filled..]
    }

    /// Records that `count` bytes were read into the free space.
    pub(in crate::proxy) fn filled(&mut self, count: usize) {
        self.filled += count;
    }

    /// Copies bytes into the free space. Returns the number of bytes that fit.
    pub(in crate::proxy) fn feed(&mut self, bytes: &[u8]) -> usize {
        let room = self.room();
        let count = room.len().min(bytes.len());
        room[..count].copy_from_slice(&bytes[..count]);
        self.filled(count);
        count
    }

    /// Returns all buffered bytes.
    pub(in crate::proxy) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// Returns the start of the first incomplete frame.
    pub(in crate::proxy) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Returns `true` if part of a frame is buffered.
    pub(in crate::proxy) fn is_partial(&self) -> bool {
        self.cursor < self.filled
    }

    /// Returns the next complete frame, or `None` if there is none yet.
    ///
    /// # Errors
    /// Returns the reason if the bytes are not RESP, or if there are too many of them.
    pub(in crate::proxy) fn next_frame(&mut self) -> Result<Option<Extent>, &'static str> {
        if !self.share.resize(self.filled) {
            return Err(BUDGET_EXCEEDED);
        }
        let rest = &self.buffer[self.cursor..self.filled];
        if rest.len() < self.need {
            return Ok(None);
        }
        let found = match &mut self.scan {
            Scan::Request(scan) => scan.advance(rest),
            Scan::Reply(scan) => scan.advance(rest),
        };
        match found {
            Ok((len, shape)) => {
                let range = self.cursor..self.cursor + len;
                self.cursor = range.end;
                self.need = 1;
                Ok(Some(Extent { range, shape }))
            }
            Err(Stop::More { need }) if need > MAX_FRAME_LENGTH => Err("a frame that is too long"),
            Err(Stop::More { need }) => {
                self.need = need;
                Ok(None)
            }
            Err(Stop::Unparseable(reason)) => Err(reason),
        }
    }

    /// Takes all bytes without framing.
    pub(in crate::proxy) fn take_raw(&mut self) -> Option<Extent> {
        let range = self.cursor..self.filled;
        self.cursor = self.filled;
        self.need = 1;
        self.is_raw = true;
        (!range.is_empty()).then_some(Extent {
            range,
            shape: Shape::Raw,
        })
    }

    /// Discards everything before the cursor.
    pub(in crate::proxy) fn consume(&mut self) {
        let was_full = self.filled == self.buffer.len();
        self.buffer.copy_within(self.cursor..self.filled, 0);
        self.filled -= self.cursor;
        self.cursor = 0;
        // Shrinking always succeeds.
        self.share.resize(self.filled);
        let target = if self.is_raw { SMALL } else { BIG };
        if self.filled == 0 && self.buffer.len() > target {
            // A big value has been forwarded, so release its memory.
            self.buffer = Vec::new();
        } else if was_full && self.buffer.len() < target {
            // The space limited the last read, so read bigger chunks.
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::resp::frame_budget::FrameBudget;

    fn fill(reader: &mut FrameReader, bytes: usize) {
        let mut left = bytes;
        while left > 0 {
            let room = reader.room();
            let count = room.len().min(left);
            room[..count].fill(b'z');
            reader.filled(count);
            left -= count;
        }
    }

    /// A worker may open hundreds of connections, and leave each of them in the middle of a long frame.
    #[test]
    fn byte_pipe_keeps_a_small_buffer() {
        let mut reader = FrameReader::new(Direction::Request, FrameBudget::default().share());
        // With framing, a buffer of the first of these sizes would be kept.
        for bytes in [BIG / 2, 4 * BIG] {
            fill(&mut reader, bytes);
            assert_eq!(reader.take_raw().map(|it| it.range.len()), Some(bytes));
            reader.consume();
            assert!(reader.buffer.len() <= SMALL, "{}", reader.buffer.len());
        }
    }
}

//! The reading end of one direction: a buffer, and the scan that splits it into frames.

use std::ops::Range;

use picklock_scenarios::Direction;

use crate::proxy::resp::frame_budget::FrameShare;
use crate::proxy::resp::reply_scan::ReplyScan;
use crate::proxy::resp::request_scan::RequestScan;
use crate::proxy::resp::scan::{MAX_FRAME_LENGTH, Shape, Stop};

/// Size of a new buffer in bytes: most connections carry short commands, and there are thousands.
const SMALL: usize = 8 << 10;

/// A buffer that reads fill completely grows to this many bytes.
const BIG: usize = 256 << 10;

/// What is said of a frame that is not kept.
const TOO_MUCH: &str = "unfinished frames that are too long together";

/// A whole frame: where it is in the buffer, and how it is built.
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

/// Bytes that came, and where the frames in them end.
#[derive(Debug)]
pub(in crate::proxy) struct FrameReader {
    buffer: Vec<u8>,
    /// How many bytes of the buffer are filled.
    filled: usize,
    /// Where the first frame begins that is not whole yet.
    cursor: usize,
    /// How many bytes that frame has at least.
    need: usize,
    /// Bytes are taken as they are: nothing is kept, so a small buffer is enough.
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

    /// Room to read into; never empty.
    pub(in crate::proxy) fn room(&mut self) -> &mut [u8] {
        if self.filled == self.buffer.len() {
            let length = self.buffer.len();
            // A long frame gets less room at a time: it is kept by many, perhaps.
            let more = if length < BIG { length } else { length / 4 };
            self.buffer.resize(length + more.max(SMALL), 0);
        }
        &mut self.buffer[self.filled..]
    }

    /// This many bytes were read into the room.
    pub(in crate::proxy) fn filled(&mut self, count: usize) {
        self.filled += count;
    }

    /// Bytes have come. Returns how many of them there was room for.
    pub(in crate::proxy) fn feed(&mut self, bytes: &[u8]) -> usize {
        let room = self.room();
        let count = room.len().min(bytes.len());
        room[..count].copy_from_slice(&bytes[..count]);
        self.filled(count);
        count
    }

    /// All bytes that are here.
    pub(in crate::proxy) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// Where the first frame begins that is not whole yet.
    pub(in crate::proxy) fn cursor(&self) -> usize {
        self.cursor
    }

    /// True when part of a frame is here.
    pub(in crate::proxy) fn is_partial(&self) -> bool {
        self.cursor < self.filled
    }

    /// Looks for the next whole frame; `None`: there is none yet.
    /// `Err`: the bytes are not RESP, or too many: why.
    pub(in crate::proxy) fn next_frame(&mut self) -> Result<Option<Extent>, &'static str> {
        if !self.share.keep(self.filled) {
            return Err(TOO_MUCH);
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

    /// Takes all bytes as they are, frame or not.
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

    /// Forgets everything before the cursor.
    pub(in crate::proxy) fn consume(&mut self) {
        let was_full = self.filled == self.buffer.len();
        self.buffer.copy_within(self.cursor..self.filled, 0);
        self.filled -= self.cursor;
        self.cursor = 0;
        // Less than before, so there is room for it.
        self.share.keep(self.filled);
        let most = if self.is_raw { SMALL } else { BIG };
        if self.filled == 0 && self.buffer.len() > most {
            // A big value has passed: do not keep its room forever.
            self.buffer = Vec::new();
        } else if was_full && self.buffer.len() < most {
            // The read was limited by the room: read bigger chunks.
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
    fn a_byte_pipe_keeps_a_small_buffer() {
        let mut reader = FrameReader::new(Direction::Request, FrameBudget::default().share());
        // Of a frame, the room for the first one would be kept.
        for bytes in [BIG / 2, 4 * BIG] {
            fill(&mut reader, bytes);
            assert_eq!(reader.take_raw().map(|it| it.range.len()), Some(bytes));
            reader.consume();
            assert!(reader.buffer.len() <= SMALL, "{}", reader.buffer.len());
        }
    }
}

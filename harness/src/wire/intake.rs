//! The reading end of one direction: a buffer, and the scan that cuts it into frames.

use std::ops::Range;

use picklock_scenarios::Direction;

use super::reply_scan::ReplyScan;
use super::request_scan::RequestScan;
use super::scan::{LONGEST_FRAME, Shape, Step};

/// A buffer is so big at first: most connections carry short commands, and there are thousands.
const SMALL: usize = 8 << 10;

/// A buffer that reads fill to the brim grows to this.
const BIG: usize = 256 << 10;

/// A whole frame: where it lies in the buffer, and how it is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub range: Range<usize>,
    pub shape: Shape,
}

/// What the scan finds next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A whole frame.
    Frame(Mark),
    /// Nothing whole.
    More,
    /// Bytes that are not RESP.
    Unparseable(&'static str),
}

#[derive(Debug)]
enum Scan {
    Request(RequestScan),
    Reply(ReplyScan),
}

/// Bytes that came, and where the frames in them end.
#[derive(Debug)]
pub(super) struct Intake {
    buffer: Vec<u8>,
    /// So many bytes of the buffer are filled.
    filled: usize,
    /// Where the first frame begins that was not found whole.
    cursor: usize,
    /// So many bytes that frame needs at least.
    need: usize,
    scan: Scan,
}

impl Intake {
    pub(super) fn new(direction: Direction) -> Self {
        Intake {
            buffer: Vec::new(),
            filled: 0,
            cursor: 0,
            need: 1,
            scan: match direction {
                Direction::Request => Scan::Request(RequestScan::default()),
                Direction::Reply => Scan::Reply(ReplyScan::default()),
            },
        }
    }

    /// Room to read into; never empty.
    pub(super) fn room(&mut self) -> &mut [u8] {
        if self.filled == self.buffer.len() {
            let doubled = (self.buffer.len() * 2).max(SMALL);
            self.buffer.resize(doubled, 0);
        }
        &mut self.buffer[self.filled..]
    }

    /// So many bytes were read into the room.
    pub(super) fn filled(&mut self, count: usize) {
        self.filled += count;
    }

    /// All bytes that are here.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// Where the bytes begin that are no whole frame yet.
    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// True when part of a frame is here.
    pub(super) fn is_partial(&self) -> bool {
        self.cursor < self.filled
    }

    /// Looks for the next whole frame.
    pub(super) fn next_frame(&mut self) -> Next {
        let rest = &self.buffer[self.cursor..self.filled];
        if rest.len() < self.need {
            return Next::More;
        }
        let step = match &mut self.scan {
            Scan::Request(scan) => scan.advance(rest),
            Scan::Reply(scan) => scan.advance(rest),
        };
        match step {
            Step::Whole { len, shape } => {
                let range = self.cursor..self.cursor + len;
                self.cursor = range.end;
                self.need = 1;
                Next::Frame(Mark { range, shape })
            }
            Step::More { need } if need > LONGEST_FRAME => {
                Next::Unparseable("a frame that is too long")
            }
            Step::More { need } => {
                self.need = need;
                Next::More
            }
            Step::Unparseable(reason) => Next::Unparseable(reason),
        }
    }

    /// Takes all bytes as they are, frame or not.
    pub(super) fn take_raw(&mut self) -> Option<Mark> {
        let range = self.cursor..self.filled;
        self.cursor = self.filled;
        self.need = 1;
        (!range.is_empty()).then_some(Mark {
            range,
            shape: Shape::Raw,
        })
    }

    /// Goes back to `position`: what was taken for frames from there on is none.
    pub(super) fn rewind(&mut self, position: usize) {
        self.cursor = position;
    }

    /// Forgets everything before the cursor.
    pub(super) fn consume(&mut self) {
        let brimful = self.filled == self.buffer.len();
        self.buffer.copy_within(self.cursor..self.filled, 0);
        self.filled -= self.cursor;
        self.cursor = 0;
        if self.filled == 0 && self.buffer.len() > BIG {
            // A big value went by: do not keep its room for good.
            self.buffer = Vec::new();
        } else if brimful && self.buffer.len() < BIG {
            // Nothing could be read but for room: read bigger chunks.
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
    }
}

//! Scans what a client sends: commands as arrays of bulk strings, or as lines of words.

use memchr::memchr;

use super::scan::{Bulk, Header, Shape, Step, bulk, header};

/// Longest inline command, as in Redis itself (`PROTO_INLINE_MAX_SIZE`).
const LONGEST_INLINE: usize = 64 << 10;

/// Scans what a client sends.
#[derive(Debug, Default)]
pub(super) struct RequestScan {
    /// Everything before this offset is done with.
    position: usize,
    /// Arguments that are still to come; `None` before the array's header.
    arguments_left: Option<u64>,
}

impl RequestScan {
    /// Goes on with the frame that begins at the first of `bytes`.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> Step {
        let step = self.step(bytes);
        if !matches!(step, Step::More { .. }) {
            *self = RequestScan::default();
        }
        step
    }

    fn step(&mut self, bytes: &[u8]) -> Step {
        let mut left = match self.arguments_left {
            Some(left) => left,
            None => match bytes.first() {
                None => return Step::More { need: 1 },
                Some(b'*') => match header(bytes, 0) {
                    Header::More => {
                        return Step::More {
                            need: bytes.len() + 1,
                        };
                    }
                    Header::Bad => return Step::Unparseable("an array length that is no number"),
                    Header::Number { value, next } => {
                        self.position = next;
                        // Redis skips empty arrays, and answers nothing.
                        let Some(count) = u64::try_from(value).ok().filter(|n| *n > 0) else {
                            return Step::Whole {
                                len: next,
                                shape: Shape::Blank,
                            };
                        };
                        count
                    }
                },
                Some(_) => return self.inline(bytes),
            },
        };
        while left > 0 {
            self.arguments_left = Some(left);
            match bytes.get(self.position) {
                None => {
                    return Step::More {
                        need: self.position + 1,
                    };
                }
                Some(b'$') => {}
                Some(_) => return Step::Unparseable("an argument that is no bulk string"),
            }
            match bulk(bytes, self.position, false) {
                Bulk::Ends(end) => self.position = end,
                Bulk::More { need } => return Step::More { need },
                Bulk::Bad(reason) => return Step::Unparseable(reason),
            }
            left -= 1;
        }
        Step::Whole {
            len: self.position,
            shape: Shape::Command,
        }
    }

    fn inline(&mut self, bytes: &[u8]) -> Step {
        let first = bytes[0];
        if !(first.is_ascii_graphic() || first.is_ascii_whitespace()) {
            return Step::Unparseable("neither an array nor a line of text");
        }
        match memchr(b'\n', &bytes[self.position..]) {
            Some(offset) => {
                let len = self.position + offset + 1;
                let blank = bytes[..len].iter().all(u8::is_ascii_whitespace);
                let shape = if blank { Shape::Blank } else { Shape::Inline };
                Step::Whole { len, shape }
            }
            None if bytes.len() > LONGEST_INLINE => Step::Unparseable("a line without an end"),
            None => {
                self.position = bytes.len();
                Step::More {
                    need: bytes.len() + 1,
                }
            }
        }
    }
}

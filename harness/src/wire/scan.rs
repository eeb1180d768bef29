//! Where one frame ends and the next begins: a scan that takes up again where it stopped.
//!
//! The scan accepts the common case by itself (commands as arrays of bulk strings, inline
//! commands, and simple strings, errors, integers and bulk strings as replies). Of everything
//! else it finds the extent only, and `codec` asks redis-protocol what it means. It accepts less
//! than redis-protocol, never more: a bulk string must end in CRLF, nesting is bounded (the codec
//! recurses), and lengths that the protocol does not write are refused.

use memchr::memchr;

/// Longest frame that is read whole. A longer one turns its connection into a byte pipe.
pub(super) const LONGEST_FRAME: usize = 64 << 20;

/// Longest inline command, as in Redis itself (`PROTO_INLINE_MAX_SIZE`).
const LONGEST_INLINE: usize = 64 << 10;

/// Deepest nesting of a reply. The codec recurses once for each level.
const DEEPEST: usize = 64;

/// How a frame is built, as far as the scan must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A command as an array of bulk strings.
    Command,
    /// A command as a line of words.
    Inline,
    /// What Redis skips without an answer: an empty line or array.
    Blank,
    /// A reply that is a simple string, an integer, or a bulk string.
    Plain,
    /// A simple error.
    Error,
    /// Any other reply; `resp3` when a type is in it that only RESP3 has.
    Composite {
        /// True when RESP2 cannot say it.
        resp3: bool,
    },
    /// Bytes of a connection that is no longer understood.
    Raw,
}

/// What a scan found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A frame that is `len` bytes long.
    Whole {
        /// From its first byte to its last.
        len: usize,
        /// How it is built.
        shape: Shape,
    },
    /// Not all of it is here; it takes at least `need` bytes in all.
    More {
        /// Counted from the frame's first byte.
        need: usize,
    },
    /// This is not RESP.
    Unparseable(&'static str),
}

/// A number between a type byte and CRLF.
enum Header {
    Number { value: i64, next: usize },
    More,
    Bad,
}

/// Reads the number whose type byte is at `at`.
fn header(bytes: &[u8], at: usize) -> Header {
    let mut index = at + 1;
    let negative = bytes.get(index) == Some(&b'-');
    index += usize::from(negative);
    let first_digit = index;
    let mut value = 0_i64;
    loop {
        match bytes.get(index) {
            None => return Header::More,
            // Eighteen digits fit into an i64, and are more than any length may have.
            Some(&digit @ b'0'..=b'9') if index - first_digit < 18 => {
                value = value * 10 + i64::from(digit - b'0');
            }
            Some(b'\r') if index > first_digit => {
                return match bytes.get(index + 1) {
                    None => Header::More,
                    Some(b'\n') => Header::Number {
                        value: if negative { -value } else { value },
                        next: index + 2,
                    },
                    Some(_) => Header::Bad,
                };
            }
            Some(_) => return Header::Bad,
        }
        index += 1;
    }
}

/// What stands behind the header of a bulk string.
enum Bulk {
    Ends(usize),
    More { need: usize },
    Bad(&'static str),
}

/// Finds the end of the bulk string whose type byte is at `at`; `null`: a length of -1 is allowed.
fn bulk(bytes: &[u8], at: usize, null: bool) -> Bulk {
    match header(bytes, at) {
        Header::More => Bulk::More {
            need: bytes.len() + 1,
        },
        Header::Bad => Bulk::Bad("a length that is no number"),
        Header::Number { value: -1, next } if null => Bulk::Ends(next),
        Header::Number { value, next } => {
            let Some(end) = usize::try_from(value)
                .ok()
                .filter(|length| *length <= LONGEST_FRAME)
                .map(|length| next + length + 2)
            else {
                return Bulk::Bad("a length that is out of bounds");
            };
            match bytes.get(end - 2..end) {
                None => Bulk::More { need: end },
                Some(b"\r\n") => Bulk::Ends(end),
                Some(_) => Bulk::Bad("a bulk string that does not end where it said"),
            }
        }
    }
}

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

/// Scans what a node sends.
#[derive(Debug, Default)]
pub(super) struct ReplyScan {
    /// Everything before this offset is done with.
    position: usize,
    /// Where to go on looking for the end of the line that begins at `position`.
    searched: usize,
    /// Elements still to come, for each open aggregate; empty before the first byte.
    open: Vec<u64>,
    /// A type was seen that only RESP3 has.
    resp3: bool,
}

impl ReplyScan {
    /// Goes on with the frame that begins at the first of `bytes`.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> Step {
        let step = self.step(bytes);
        if !matches!(step, Step::More { .. }) {
            self.position = 0;
            self.searched = 0;
            self.open.clear();
            self.resp3 = false;
        }
        step
    }

    fn step(&mut self, bytes: &[u8]) -> Step {
        if self.open.is_empty() {
            self.open.push(1);
        }
        loop {
            while self.open.last() == Some(&0) {
                self.open.pop();
            }
            if self.open.is_empty() {
                return Step::Whole {
                    len: self.position,
                    shape: self.shape(bytes),
                };
            }
            let Some(&kind) = bytes.get(self.position) else {
                return Step::More {
                    need: self.position + 1,
                };
            };
            let element = match kind {
                b'+' | b'-' | b':' => self.line(bytes),
                b'_' | b',' | b'#' | b'(' => {
                    self.resp3 = true;
                    self.line(bytes)
                }
                b'$' => bulk(bytes, self.position, true),
                b'!' | b'=' => {
                    self.resp3 = true;
                    bulk(bytes, self.position, false)
                }
                b'*' | b'%' | b'~' | b'>' | b'|' => match self.aggregate(bytes, kind) {
                    None => continue,
                    Some(step) => return step,
                },
                _ => return Step::Unparseable("a type that RESP does not have"),
            };
            match element {
                Bulk::Ends(end) => {
                    self.position = end;
                    self.searched = 0;
                    self.count_element();
                }
                Bulk::More { need } => return Step::More { need },
                Bulk::Bad(reason) => return Step::Unparseable(reason),
            }
        }
    }

    /// Opens the aggregate at `position`. `Some`: the scan stops here.
    fn aggregate(&mut self, bytes: &[u8], kind: u8) -> Option<Step> {
        let (count, next) = match header(bytes, self.position) {
            Header::More => {
                return Some(Step::More {
                    need: bytes.len() + 1,
                });
            }
            Header::Bad => return Some(Step::Unparseable("an aggregate without a length")),
            Header::Number { value: -1, next } if kind == b'*' => (0, next),
            Header::Number { value, next } => match u64::try_from(value) {
                Ok(count) => (count, next),
                Err(_) => return Some(Step::Unparseable("a length that is out of bounds")),
            },
        };
        if self.open.len() >= DEEPEST {
            return Some(Step::Unparseable("nested too deeply"));
        }
        self.position = next;
        self.resp3 |= kind != b'*';
        // An attribute goes before an element and does not count as one.
        if kind != b'|' {
            self.count_element();
        }
        let pairs = matches!(kind, b'%' | b'|');
        self.open.push(if pairs { count * 2 } else { count });
        None
    }

    fn count_element(&mut self) {
        if let Some(left) = self.open.last_mut() {
            *left -= 1;
        }
    }

    /// Finds the end of the line that begins at `position`.
    fn line(&mut self, bytes: &[u8]) -> Bulk {
        let mut from = self.searched.max(self.position + 1);
        while let Some(offset) = bytes.get(from..).and_then(|rest| memchr(b'\r', rest)) {
            match bytes.get(from + offset + 1) {
                Some(b'\n') => return Bulk::Ends(from + offset + 2),
                Some(_) => from += offset + 1,
                None => {
                    self.searched = from + offset;
                    return Bulk::More {
                        need: bytes.len() + 1,
                    };
                }
            }
        }
        self.searched = bytes.len();
        Bulk::More {
            need: bytes.len() + 1,
        }
    }

    fn shape(&self, bytes: &[u8]) -> Shape {
        let is_number = || matches!(header(bytes, 0), Header::Number { .. });
        match bytes.first() {
            Some(b'+' | b'$') => Shape::Plain,
            Some(b':') if is_number() => Shape::Plain,
            Some(b'-') => Shape::Error,
            _ => Shape::Composite { resp3: self.resp3 },
        }
    }
}

//! Where one frame ends and the next begins: scans that resume where they stopped.
//!
//! A scan is strict: a bulk string must end in CRLF, a number must be one, nesting is bounded, and
//! lengths that the protocol does not write are refused. It leaves out RESP3's streamed strings
//! and aggregates (`$?`, `*?`), which no Redis sends. Property tests hold it to the redis-protocol
//! crate, which never accepts less.

/// Longest frame that is read whole. A longer one turns its connection into a byte pipe.
pub(super) const LONGEST_FRAME: usize = 8 << 20;

/// How a frame is built.
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
    /// Any other reply.
    Composite,
    /// Bytes of a connection that has become a byte pipe.
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
pub(super) enum Header {
    Number { value: i64, next: usize },
    More,
    Bad,
}

/// Reads the number whose type byte is at `at`.
pub(super) fn header(bytes: &[u8], at: usize) -> Header {
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

/// Where an element ends.
pub(super) enum Bulk {
    Ends(usize),
    More { need: usize },
    Bad(&'static str),
}

/// Finds the end of the bulk string whose type byte is at `at`; `null`: a length of -1 is allowed.
pub(super) fn bulk(bytes: &[u8], at: usize, null: bool) -> Bulk {
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

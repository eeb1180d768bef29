//! Where one frame ends and the next begins: scans that resume where they stopped.
//!
//! A scan is strict: a bulk string must end in CRLF, a number must be one, nesting is bounded, and
//! lengths that the protocol does not write are refused. It leaves out RESP3's streamed strings
//! and aggregates (`$?`, `*?`), which no Redis sends. Property tests hold it to the redis-protocol
//! crate, which never accepts less.

/// Longest frame that is read whole. A longer one turns its connection into a byte pipe.
pub(in crate::proxy) const MAX_FRAME_LENGTH: usize = 8 << 20;

/// How a frame is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) enum Shape {
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

/// Why a scan has not found the end of what it looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) enum Stop {
    /// Not all of it is here; the frame takes at least `need` bytes in all.
    More {
        /// Counted from the frame's first byte.
        need: usize,
    },
    /// This is not RESP.
    Unparseable(&'static str),
}

impl Stop {
    /// More than these bytes of the frame are needed.
    pub(in crate::proxy) fn after(bytes: &[u8]) -> Stop {
        Stop::More {
            need: bytes.len() + 1,
        }
    }
}

/// Reads the number between the type byte at `at` and CRLF. Returns it, and where the next line begins.
/// `wrong`: what is said where there is none.
pub(in crate::proxy) fn header(
    bytes: &[u8],
    at: usize,
    wrong: &'static str,
) -> Result<(i64, usize), Stop> {
    let mut index = at + 1;
    let negative = bytes.get(index) == Some(&b'-');
    index += usize::from(negative);
    let first_digit = index;
    let mut value = 0_i64;
    loop {
        match bytes.get(index) {
            None => return Err(Stop::after(bytes)),
            // Eighteen digits fit into an i64, and are more than any length may have.
            Some(&digit @ b'0'..=b'9') if index - first_digit < 18 => {
                value = value * 10 + i64::from(digit - b'0');
            }
            // Redis takes `-0` for no number.
            Some(b'\r') if index > first_digit && !(negative && value == 0) => {
                return match bytes.get(index + 1) {
                    None => Err(Stop::after(bytes)),
                    Some(b'\n') => Ok((if negative { -value } else { value }, index + 2)),
                    Some(_) => Err(Stop::Unparseable(wrong)),
                };
            }
            Some(_) => return Err(Stop::Unparseable(wrong)),
        }
        index += 1;
    }
}

/// Finds the end of the bulk string whose type byte is at `at`; `null`: a length of -1 is allowed.
pub(in crate::proxy) fn bulk(bytes: &[u8], at: usize, null: bool) -> Result<usize, Stop> {
    let (value, next) = header(bytes, at, "a length that is no number")?;
    if null && value == -1 {
        return Ok(next);
    }
    let length = usize::try_from(value).ok();
    let Some(length) = length.filter(|length| *length <= MAX_FRAME_LENGTH) else {
        return Err(Stop::Unparseable("a length that is out of bounds"));
    };
    let end = next + length + 2;
    match bytes.get(end - 2..end) {
        None => Err(Stop::More { need: end }),
        Some(b"\r\n") => Ok(end),
        Some(_) => Err(Stop::Unparseable(
            "a bulk string that does not end where it said",
        )),
    }
}

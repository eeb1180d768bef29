//! Finds where one frame ends and the next begins, with scans that resume where they stopped.
//!
//! A scan is strict: it rejects bulk strings that do not end in CRLF, invalid numbers, deep nesting, and lengths
//! that the protocol does not allow. RESP3's streamed strings and aggregates (`$?`, `*?`) are not supported,
//! because no Redis sends them. Property tests check that the redis-protocol crate accepts every frame that a scan
//! accepts.

/// Maximum length of a frame in bytes. A longer frame turns its connection into a byte pipe.
pub(in crate::proxy) const MAX_FRAME_LENGTH: usize = 8 << 20;

/// The structure of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) enum Shape {
    /// A command as an array of bulk strings.
    Command,
    /// A command as a line of words.
    Inline,
    /// An empty line or array, which Redis skips without a reply.
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

/// The reason why a scan has not found the end of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) enum Stop {
    /// The frame is incomplete.
    More {
        /// Minimum length of the frame.
        need: usize,
    },
    /// The bytes are not RESP, for this reason.
    Unparseable(&'static str),
}

impl Stop {
    /// Returns the stop for a frame that is longer than `bytes`.
    pub(in crate::proxy) fn after(bytes: &[u8]) -> Stop {
        Stop::More {
            need: bytes.len() + 1,
        }
    }
}

/// Reads the number between the type byte at `at` and CRLF. Returns the number and the start of the next line. If there
/// is no number, the reason of the error is `wrong`.
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
            // Eighteen digits fit into an i64, and exceed any valid length.
            Some(&digit @ b'0'..=b'9') if index - first_digit < 18 => {
                value = value * 10 + i64::from(digit - b'0');
            }
            // Redis does not accept `-0` as a number.
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

/// Returns the end of the bulk string whose type byte is at `at`. If `allows_null` is true, its length may be -1.
pub(in crate::proxy) fn bulk(bytes: &[u8], at: usize, allows_null: bool) -> Result<usize, Stop> {
    let (value, next) = header(bytes, at, "a length that is not a number")?;
    if allows_null && value == -1 {
        return Ok(next);
    }
    let Some(length) = usize::try_from(value)
        .ok()
        .filter(|length| *length <= MAX_FRAME_LENGTH)
    else {
        return Err(Stop::Unparseable("a length that is out of bounds"));
    };
    let end = next + length + 2;
    match bytes.get(end - 2..end) {
        None => Err(Stop::More { need: end }),
        Some(b"\r\n") => Ok(end),
        Some(_) => Err(Stop::Unparseable(
            "a bulk string that does not end after its length",
        )),
    }
}

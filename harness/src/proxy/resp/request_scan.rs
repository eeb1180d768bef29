//! Finds the end of a request in a stream that arrives in pieces.

use memchr::memchr;

use crate::proxy::resp::scan::{Shape, Stop, bulk, header};

/// Maximum length of an inline command, as in Redis itself (`PROTO_INLINE_MAX_SIZE`).
const MAX_INLINE_LENGTH: usize = 64 << 10;

/// Finds the ends of requests, which are commands in the form of arrays of bulk strings or of lines of words.
#[derive(Debug, Default)]
pub(in crate::proxy) struct RequestScan {
    /// Everything before this offset has been scanned.
    position: usize,
    /// Number of outstanding arguments, or `None` before the array's header.
    arguments_left: Option<u64>,
}

impl RequestScan {
    /// Continues the scan of the frame that begins at the start of `bytes`. Returns its length and structure.
    pub(in crate::proxy) fn advance(&mut self, bytes: &[u8]) -> Result<(usize, Shape), Stop> {
        let found = self.find_end(bytes);
        if !matches!(found, Err(Stop::More { .. })) {
            *self = RequestScan::default();
        }
        found
    }

    fn find_end(&mut self, bytes: &[u8]) -> Result<(usize, Shape), Stop> {
        let mut left = match (self.arguments_left, bytes.first()) {
            (Some(left), _) => left,
            (None, None) => return Err(Stop::More { need: 1 }),
            (None, Some(b'*')) => {
                let (value, next) = header(bytes, 0, "an array length that is not a number")?;
                self.position = next;
                match u64::try_from(value) {
                    Ok(count @ 1..) => count,
                    // Redis skips empty arrays without a reply.
                    _ => return Ok((next, Shape::Blank)),
                }
            }
            (None, Some(_)) => return self.inline(bytes),
        };
        while left > 0 {
            self.arguments_left = Some(left);
            let need = self.position + 1;
            match bytes.get(self.position) {
                None => return Err(Stop::More { need }),
                Some(b'$') => self.position = bulk(bytes, self.position, false)?,
                Some(_) => return Err(Stop::Unparseable("an argument that is not a bulk string")),
            }
            left -= 1;
        }
        Ok((self.position, Shape::Command))
    }

    fn inline(&mut self, bytes: &[u8]) -> Result<(usize, Shape), Stop> {
        let first = bytes[0];
        if !(first.is_ascii_graphic() || first.is_ascii_whitespace()) {
            return Err(Stop::Unparseable("neither an array nor a line of text"));
        }
        match memchr(b'\n', &bytes[self.position..]) {
            Some(offset) => {
                let len = self.position + offset + 1;
                let blank = bytes[..len].iter().all(u8::is_ascii_whitespace);
                let shape = if blank { Shape::Blank } else { Shape::Inline };
                Ok((len, shape))
            }
            None if bytes.len() > MAX_INLINE_LENGTH => {
                Err(Stop::Unparseable("a line without an end"))
            }
            None => {
                self.position = bytes.len();
                Err(Stop::after(bytes))
            }
        }
    }
}

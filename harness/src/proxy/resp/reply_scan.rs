//! Finds the end of a reply in a stream that arrives in pieces, without reading a byte twice.

use memchr::memchr;

use crate::proxy::resp::scan::{Shape, Stop, bulk, header};

/// Maximum nesting depth of a reply. Redis itself sends only a few levels.
const MAX_DEPTH: usize = 64;

/// Finds the ends of replies.
#[derive(Debug, Default)]
pub(in crate::proxy) struct ReplyScan {
    /// Everything before this offset has been scanned.
    position: usize,
    /// Offset at which to resume the search for the end of the line that begins at `position`.
    searched: usize,
    /// Number of outstanding elements of each open aggregate; empty before the first byte.
    open: Vec<u64>,
}

impl ReplyScan {
    /// Continues the scan of the frame that begins at the start of `bytes`. Returns its length and structure.
    pub(in crate::proxy) fn advance(&mut self, bytes: &[u8]) -> Result<(usize, Shape), Stop> {
        let found = self.find_end(bytes);
        if !matches!(found, Err(Stop::More { .. })) {
            self.position = 0;
            self.searched = 0;
            self.open.clear();
        }
        found
    }

    fn find_end(&mut self, bytes: &[u8]) -> Result<(usize, Shape), Stop> {
        if self.open.is_empty() {
            self.open.push(1);
        }
        loop {
            while self.open.last() == Some(&0) {
                self.open.pop();
            }
            if self.open.is_empty() {
                return Ok((self.position, shape(bytes)));
            }
            let need = self.position + 1;
            let kind = *bytes.get(self.position).ok_or(Stop::More { need })?;
            self.position = match kind {
                b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => self.line(bytes)?,
                b'$' => bulk(bytes, self.position, true)?,
                b'!' | b'=' => bulk(bytes, self.position, false)?,
                b'*' | b'%' | b'~' | b'>' | b'|' => {
                    self.aggregate(bytes, kind)?;
                    continue;
                }
                _ => return Err(Stop::Unparseable("an unknown RESP type")),
            };
            self.searched = 0;
            self.count_element();
        }
    }

    /// Opens the aggregate at `position`.
    fn aggregate(&mut self, bytes: &[u8], kind: u8) -> Result<(), Stop> {
        let (value, next) = header(bytes, self.position, "an aggregate without a length")?;
        let count = match u64::try_from(value) {
            Ok(count) => count,
            Err(_) if value == -1 && kind == b'*' => 0,
            Err(_) => return Err(Stop::Unparseable("a length that is out of bounds")),
        };
        if self.open.len() >= MAX_DEPTH {
            return Err(Stop::Unparseable("too deeply nested arrays"));
        }
        self.position = next;
        // An attribute precedes an element and does not count as one.
        if kind != b'|' {
            self.count_element();
        }
        let pairs = matches!(kind, b'%' | b'|');
        self.open.push(if pairs { count * 2 } else { count });
        Ok(())
    }

    fn count_element(&mut self) {
        if let Some(left) = self.open.last_mut() {
            *left -= 1;
        }
    }

    /// Returns the end of the line that begins at `position`.
    fn line(&mut self, bytes: &[u8]) -> Result<usize, Stop> {
        let mut from = self.searched.max(self.position + 1);
        while let Some(offset) = bytes.get(from..).and_then(|rest| memchr(b'\r', rest)) {
            match bytes.get(from + offset + 1) {
                Some(b'\n') => return self.checked_line(bytes, from + offset),
                Some(_) => from += offset + 1,
                None => {
                    self.searched = from + offset;
                    return Err(Stop::after(bytes));
                }
            }
        }
        self.searched = bytes.len();
        Err(Stop::after(bytes))
    }

    /// Returns the end of the line that begins at `position` and has its CRLF at `end`, or an error if its value is
    /// invalid for its type.
    fn checked_line(&self, bytes: &[u8], end: usize) -> Result<usize, Stop> {
        let text = &bytes[self.position + 1..end];
        let is_valid = match bytes[self.position] {
            // Nearly all numbers are short, and `header` checks short numbers faster.
            b':' => header(bytes, self.position, "").is_ok() || parses::<i64>(text),
            b',' => parses::<f64>(text),
            b'#' => matches!(text, b"t" | b"f"),
            b'_' => text.is_empty(),
            b'(' => {
                let digits = text.strip_prefix(b"-").unwrap_or(text);
                !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
            }
            _ => true,
        };
        if is_valid {
            Ok(end + 2)
        } else {
            Err(Stop::Unparseable("a value that is invalid for its type"))
        }
    }
}

fn parses<T: std::str::FromStr>(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<T>().is_ok())
}

fn shape(frame: &[u8]) -> Shape {
    match frame.first() {
        Some(b'+' | b'$' | b':') => Shape::Plain,
        Some(b'-') => Shape::Error,
        _ => Shape::Composite,
    }
}

//! Scans what a node sends.

use memchr::memchr;

use super::scan::{Bulk, Header, Shape, Step, bulk, header};

/// Deepest nesting of a reply that is accepted. Redis itself answers with a few levels at most.
const DEEPEST: usize = 64;

/// Scans what a node sends.
#[derive(Debug, Default)]
pub(super) struct ReplyScan {
    /// Everything before this offset is done with.
    position: usize,
    /// Where to go on looking for the end of the line that begins at `position`.
    searched: usize,
    /// Elements still to come, for each open aggregate; empty before the first byte.
    open: Vec<u64>,
}

impl ReplyScan {
    /// Goes on with the frame that begins at the first of `bytes`.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> Step {
        let step = self.step(bytes);
        if !matches!(step, Step::More { .. }) {
            self.position = 0;
            self.searched = 0;
            self.open.clear();
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
                    shape: shape(bytes),
                };
            }
            let Some(&kind) = bytes.get(self.position) else {
                return Step::More {
                    need: self.position + 1,
                };
            };
            let element = match kind {
                b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => self.line(bytes),
                b'$' => bulk(bytes, self.position, true),
                b'!' | b'=' => bulk(bytes, self.position, false),
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
                Some(b'\n') => return self.checked_line(bytes, from + offset),
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

    /// The line from `position` to its CRLF at `end`, if its type allows what it says.
    fn checked_line(&self, bytes: &[u8], end: usize) -> Bulk {
        let text = &bytes[self.position + 1..end];
        let is_valid = match bytes[self.position] {
            // Nearly all numbers are short ones, which the header's reader accepts sooner.
            b':' => {
                matches!(header(bytes, self.position), Header::Number { .. }) || parses::<i64>(text)
            }
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
            Bulk::Ends(end + 2)
        } else {
            Bulk::Bad("a value that its type does not have")
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

//! Scans what a node sends.

use memchr::memchr;

use super::scan::{Bulk, Header, Shape, Step, bulk, header};

/// Deepest nesting of a reply. The codec recurses once for each level.
const DEEPEST: usize = 64;

/// A reply of more elements is an answer and nothing else: messages and confirmations have three
/// or four. The codec is not asked about it, because it would build a tree of them all.
const MANY: u64 = 1 << 16;

/// Scans what a node sends.
#[derive(Debug, Default)]
pub(super) struct ReplyScan {
    /// Everything before this offset is done with.
    position: usize,
    /// Where to go on looking for the end of the line that begins at `position`.
    searched: usize,
    /// Elements still to come, for each open aggregate; empty before the first byte.
    open: Vec<u64>,
    /// Elements that were found so far.
    elements: u64,
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
            self.elements = 0;
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
        self.elements += 1;
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
            Some(&kind) if kind != b'>' && self.elements > MANY => Shape::Plain,
            _ => Shape::Composite { resp3: self.resp3 },
        }
    }
}

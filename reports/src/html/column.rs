//! Columns of numbers as text: a compact form of events for embedding in a page.
//!
//! Numbers are variable-length integers with seven bits per byte, lowest bits first (LEB128). The bytes are
//! encoded as base64. A hold takes about ten bytes.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

/// A sequence of numbers.
#[derive(Debug, Default)]
pub(super) struct Column(Vec<u8>);

impl Column {
    pub(super) fn push(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Appends a number that may be negative. Its sign is stored in the lowest bit.
    pub(super) fn push_signed(&mut self, value: i64) {
        self.push(((value << 1) ^ (value >> 63)) as u64);
    }

    pub(super) fn text(&self) -> String {
        STANDARD.encode(&self.0)
    }
}

/// A list of distinct texts. Rows of numbers refer to them by index.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct Texts {
    list: Vec<String>,
    #[serde(skip)]
    known: HashMap<String, usize>,
}

impl Texts {
    /// Returns the index of a text, and adds the text if it is new.
    pub(super) fn index(&mut self, text: &str) -> usize {
        if let Some(index) = self.known.get(text) {
            return *index;
        }
        let index = self.list.len();
        self.list.push(text.to_owned());
        self.known.insert(text.to_owned(), index);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(column: &Column) -> Vec<u8> {
        STANDARD.decode(column.text()).unwrap()
    }

    #[test]
    fn numbers_take_seven_bits_per_byte() {
        let mut column = Column::default();
        for value in [0, 127, 128, 300] {
            column.push(value);
        }
        assert_eq!(bytes(&column), [0, 127, 0x80, 1, 0xac, 2]);
    }

    #[test]
    fn sign_is_stored_in_the_lowest_bit() {
        let mut column = Column::default();
        for value in [0, -1, 1, -64] {
            column.push_signed(value);
        }
        assert_eq!(bytes(&column), [0, 1, 2, 127]);
        let mut widest = Column::default();
        widest.push_signed(i64::MIN);
        assert_eq!(bytes(&widest).len(), 10);
    }
}

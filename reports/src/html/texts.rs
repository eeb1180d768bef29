//! Texts that rows of numbers name by their index.

use std::collections::HashMap;

use serde::{Serialize, Serializer};

/// A list of texts without duplicates.
#[derive(Debug, Default)]
pub(super) struct Texts {
    list: Vec<String>,
    known: HashMap<String, usize>,
}

impl Texts {
    /// The index of a text, which is added if it is new.
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

impl Serialize for Texts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.list.serialize(serializer)
    }
}

//! Hashes, in insertion order of their fields.

use indexmap::IndexMap;

/// Fields with values. A real server keeps this order while the hash is small.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in super::super) struct Hash {
    fields: IndexMap<Vec<u8>, Vec<u8>>,
}

impl Hash {
    pub(in super::super) fn get(&self, field: &[u8]) -> Option<&Vec<u8>> {
        self.fields.get(field)
    }

    /// Sets a field. True if it is new. An existing one keeps its position.
    pub(in super::super) fn set(&mut self, field: &[u8], value: Vec<u8>) -> bool {
        self.fields.insert(field.to_vec(), value).is_none()
    }

    /// Removes a field. True if it existed.
    pub(in super::super) fn remove(&mut self, field: &[u8]) -> bool {
        self.fields.shift_remove(field).is_some()
    }

    pub(in super::super) fn len(&self) -> usize {
        self.fields.len()
    }

    pub(in super::super) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    pub(in super::super) fn iter(&self) -> impl Iterator<Item = (&Vec<u8>, &Vec<u8>)> {
        self.fields.iter()
    }
}

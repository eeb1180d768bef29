//! Hashes, in insertion order of their fields.

use std::collections::BTreeMap;

use indexmap::IndexMap;

/// Fields with values. A real server keeps this order while the hash is small.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in super::super) struct Hash {
    fields: IndexMap<Vec<u8>, Vec<u8>>,
    /// When fields expire, in milliseconds since the Unix epoch. Most hashes have no such field.
    expiries: BTreeMap<Vec<u8>, i64>,
}

impl Hash {
    pub(in super::super) fn get(&self, field: &[u8]) -> Option<&Vec<u8>> {
        self.fields.get(field)
    }

    /// Sets a field, which then has no expiry. True if it is new. An existing one keeps its position.
    pub(in super::super) fn set(&mut self, field: &[u8], value: Vec<u8>) -> bool {
        if !self.expiries.is_empty() {
            self.persist(field);
        }
        self.fields.insert(field.to_vec(), value).is_none()
    }

    /// Changes the value of a field, which keeps its expiry; it may be new.
    pub(in super::super) fn change(&mut self, field: &[u8], value: Vec<u8>) {
        self.fields.insert(field.to_vec(), value);
    }

    /// Removes a field. True if it existed.
    pub(in super::super) fn remove(&mut self, field: &[u8]) -> bool {
        self.expiries.remove(field);
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

    /// When a field expires.
    pub(in super::super) fn expiry_ms(&self, field: &[u8]) -> Option<i64> {
        self.expiries.get(field).copied()
    }

    /// True if a field has an expiry.
    pub(in super::super) fn has_expiries(&self) -> bool {
        !self.expiries.is_empty()
    }

    /// When the last field expires; `None` if one stays.
    pub(in super::super) fn last_expiry_ms(&self) -> Option<i64> {
        let all = self.expiries.len() == self.fields.len();
        self.expiries.values().copied().max().filter(|_| all)
    }

    /// Gives an existing field an expiry. Fields with expiries stand first, the earliest before all.
    pub(in super::super) fn expire_at(&mut self, field: &[u8], at_ms: i64) {
        self.expiries.remove(field);
        let Some(value) = self.fields.shift_remove(field) else {
            return;
        };
        let mut names = self.fields.keys();
        let is_later = |name: &Vec<u8>| self.expiries.get(name).is_none_or(|other| *other >= at_ms);
        let place = names.position(is_later).unwrap_or(self.fields.len());
        self.fields.shift_insert(place, field.to_vec(), value);
        self.expiries.insert(field.to_vec(), at_ms);
    }

    /// Takes the expiry of a field, which then stands last. True if it had one.
    pub(in super::super) fn persist(&mut self, field: &[u8]) -> bool {
        if self.expiries.remove(field).is_none() {
            return false;
        }
        if let Some((name, value)) = self.fields.shift_remove_entry(field) {
            self.fields.insert(name, value);
        }
        true
    }

    /// The fields that have expired, by the rule for keys.
    pub(in super::super) fn expired(&self, now_ms: i64) -> Vec<Vec<u8>> {
        let over = self.expiries.iter().filter(|(_, at_ms)| now_ms > **at_ms);
        over.map(|(field, _)| field.clone()).collect()
    }
}

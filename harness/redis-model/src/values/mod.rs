//! The values that a key can hold.

mod set;
mod sorted_set;

use std::collections::VecDeque;

use indexmap::IndexMap;

pub(super) use set::Set;
pub(super) use sorted_set::{Bound, SortedSet};

/// Fields with values, in insertion order, as on a real server while the hash is small.
pub(super) type Hash = IndexMap<Vec<u8>, Vec<u8>>;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// Bytes.
    String(Vec<u8>),
    /// Fields with values.
    Hash(Hash),
    /// A list of elements.
    List(VecDeque<Vec<u8>>),
    /// Members.
    Set(Set),
    /// Members with scores.
    SortedSet(SortedSet),
}

impl Value {
    /// Returns the reply of `TYPE`.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Value::String(_) => "string",
            Value::Hash(_) => "hash",
            Value::List(_) => "list",
            Value::Set(_) => "set",
            Value::SortedSet(_) => "zset",
        }
    }
}

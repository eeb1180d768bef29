//! The values that a key can hold.

mod hash;
mod set;
mod sorted_set;

use std::collections::VecDeque;

pub(super) use hash::Hash;
pub(super) use set::Set;
pub(super) use sorted_set::{Bound, SortedSet};

/// A value.
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
    /// The reply of `TYPE`.
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

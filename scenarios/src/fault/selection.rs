//! Which workers and nodes a scenario file selects for a fault.

use serde::{Deserialize, Serialize};

/// Which workers a fault strikes, as a scenario file says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Workers {
    /// By number, from 0.
    List(Vec<usize>),
    /// `"same"`, `"others"` or `"all"`.
    Word(Who),
}

/// Which nodes a fault strikes, as a scenario file says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Nodes {
    /// By number, from 0.
    List(Vec<usize>),
    /// `"same"`, `"others"` or `"all"`.
    Word(Who),
}

/// A group relative to where the fault's event happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Who {
    /// The one at which the event happened.
    Same,
    /// All but that one.
    Others,
    /// Every one.
    All,
}

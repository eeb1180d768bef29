//! Which workers or nodes a scenario file selects for a fault.

use serde::{Deserialize, Serialize};

/// Which workers, or which nodes, a fault strikes, as a scenario file says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a list of numbers, or \"same\", \"others\" or \"all\""
)]
pub enum Selection {
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

impl Selection {
    /// The numbers, if they are given.
    pub(super) fn listed(&self) -> &[usize] {
        match self {
            Selection::List(list) => list,
            Selection::Word(_) => &[],
        }
    }

    /// True if it is clear only at the event whom it means.
    pub(super) fn is_relative(&self) -> bool {
        matches!(self, Selection::Word(Who::Same | Who::Others))
    }

    /// The numbers that it means, of `count`, where the event happened at `same`.
    pub(super) fn numbers(&self, same: Option<usize>, count: usize) -> Vec<usize> {
        match self {
            Selection::List(list) => list.clone(),
            Selection::Word(Who::Same) => same.into_iter().collect(),
            Selection::Word(Who::Others) => (0..count).filter(|one| Some(*one) != same).collect(),
            Selection::Word(Who::All) => (0..count).collect(),
        }
    }
}

//! The selection of a fault's workers or nodes.

use serde::{Deserialize, Serialize};

/// The workers, or the nodes, that a scenario file selects for a fault.
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

/// A group relative to the location of the fault's event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Who {
    /// The worker or node at which the event happened.
    Same,
    /// All workers or nodes except the one at which the event happened.
    Others,
    /// All workers or nodes.
    All,
}

impl Selection {
    /// Returns the listed numbers, or an empty list if the selection is a word.
    pub(super) fn listed(&self) -> &[usize] {
        match self {
            Selection::List(list) => list,
            Selection::Word(_) => &[],
        }
    }

    /// Returns `true` if the selection depends on the location of the event.
    pub(super) fn is_relative(&self) -> bool {
        matches!(self, Selection::Word(Who::Same | Who::Others))
    }

    /// Returns the selected numbers out of `count`, if the event happened at `same`.
    pub(super) fn numbers(&self, same: Option<usize>, count: usize) -> Vec<usize> {
        match self {
            Selection::List(list) => list.clone(),
            Selection::Word(Who::Same) => same.into_iter().collect(),
            Selection::Word(Who::Others) => (0..count).filter(|one| Some(*one) != same).collect(),
            Selection::Word(Who::All) => (0..count).collect(),
        }
    }
}

//! The story to which a change of a verdict belongs.

use picklock_verdicts::check::{Cause, Property, Status};
use picklock_verdicts::record::Cell;

use super::outcome::Outcome;
use crate::problem::problems;

/// Identifies the story of a change within its cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum StoryKey {
    /// The whole cell changed.
    Cell,
    /// The problem of the cell after with this index, or of the cell before if nothing is violated after.
    Problem { is_after: bool, index: usize },
    /// The verdicts before and after, if the shown run has no violation of the property.
    Verdicts([Option<(Status, Option<Cause>)>; 2]),
}

/// The problems of the shown runs of a cell, before and after, each as its properties.
pub(super) struct Problems([Vec<Vec<Property>>; 2]);

impl Problems {
    pub(super) fn new(before: &Cell, after: &Cell) -> Self {
        Problems([before, after].map(|cell| {
            let problems = problems(&cell.verdicts).into_iter();
            problems.map(|problem| problem.properties).collect()
        }))
    }

    /// Returns the story of a change of `property`: the violation after, and otherwise the one before.
    pub(super) fn story(&self, property: Property, outcomes: [&Outcome; 2]) -> StoryKey {
        for (side, is_after) in [(1, true), (0, false)] {
            let mut problems = self.0[side].iter();
            let index = problems.position(|properties| properties.contains(&property));
            if let Some(index) = index.filter(|_| outcomes[side].is_violated()) {
                return StoryKey::Problem { is_after, index };
            }
        }
        StoryKey::Verdicts(outcomes.map(Outcome::verdict))
    }
}

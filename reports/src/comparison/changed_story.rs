//! Changes of one cell that one story explains. Violations of several properties are one change for a reader.

use std::cmp::Reverse;
use std::collections::HashMap;

use picklock_verdicts::check::{Property, describe};

use super::{Change, Comparison, Direction, Outcome};

/// Changes that one story explains, in reading order of their properties.
pub(crate) struct ChangedStory<'a> {
    /// The worst direction of the changes.
    pub(crate) direction: Direction,
    /// The changes, at least one.
    pub(crate) changes: Vec<&'a Change>,
}

impl<'a> ChangedStory<'a> {
    /// Returns the change that represents all: the one with the worst direction.
    pub(crate) fn first(&self) -> &'a Change {
        self.changes[0]
    }

    /// Returns the names of the changed properties, or "cell" if the whole cell changed.
    pub(crate) fn item(&self) -> String {
        let all = self.changes.iter();
        let mut properties: Vec<Property> = all.filter_map(|change| change.property).collect();
        properties.sort();
        if properties.is_empty() {
            return "cell".to_owned();
        }
        let names: Vec<&str> = properties.iter().map(|it| it.as_str()).collect();
        names.join(", ")
    }

    /// Returns the results before and after: on each side the worst, of the most severe property.
    pub(crate) fn outcomes(&self) -> [&'a Outcome; 2] {
        let worst = |outcome: fn(&Change) -> &Outcome| {
            let severity = |it: Property| describe(it).severity;
            let by_badness = |change: &&&Change| {
                let rank = Reverse(outcome(change).rank());
                (rank, change.property.map(severity))
            };
            let worst = self.changes.iter().min_by_key(by_badness);
            outcome(worst.map_or(self.first(), |change| change))
        };
        [worst(|it| &it.before), worst(|it| &it.after)]
    }
}

impl Comparison {
    /// Returns the changes by story, the worst first.
    pub(crate) fn stories(&self) -> Vec<ChangedStory<'_>> {
        let mut stories: Vec<ChangedStory<'_>> = Vec::new();
        let mut known = HashMap::new();
        // Sorted by direction: the first change of a story has its worst direction.
        for change in &self.verdicts {
            let key = (change.after_index, &change.story);
            let index = *known.entry(key).or_insert(stories.len());
            match stories.get_mut(index) {
                Some(story) => story.changes.push(change),
                None => stories.push(ChangedStory {
                    direction: change.direction,
                    changes: vec![change],
                }),
            }
        }
        stories
    }

    /// Returns the number of changed cells for each direction, the worst of each cell.
    pub(crate) fn changed_cells(&self) -> Vec<(Direction, usize)> {
        let mut worst = HashMap::new();
        for change in &self.verdicts {
            worst.entry(change.after_index).or_insert(change.direction);
        }
        let directions = [
            Direction::Worse,
            Direction::UnexpectedPass,
            Direction::Other,
            Direction::Better,
        ];
        let count = |direction| worst.values().filter(|it| **it == direction).count();
        let counts = directions.map(|direction| (direction, count(direction)));
        counts.into_iter().filter(|(_, cells)| *cells > 0).collect()
    }
}

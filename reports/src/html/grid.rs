//! The matrix as tables: one for each world, with a row per scenario and a column per subject.

use picklock_verdicts::record::Cell;

use super::name::{Name, name, sentence};
use super::tile::{Tile, tile};

/// A table.
#[derive(Debug)]
pub(super) struct World {
    pub(super) backend: Name,
    pub(super) subjects: Vec<Name>,
    pub(super) rows: Vec<Row>,
}

/// A scenario.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) scenario: Name,
    pub(super) summary: Name,
    /// The cells of each subject in the table: none if it was not run, several if it was run more
    /// than once.
    pub(super) slots: Vec<Vec<Slot>>,
}

/// A cell, with a link to its details.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) index: usize,
    pub(super) tile: Tile,
}

pub(super) fn worlds(cells: &[Cell]) -> Vec<World> {
    let backends = in_order(cells.iter().map(|cell| cell.backend.word()));
    let world = |backend: &str| {
        let of_world = || {
            let cells = cells.iter().enumerate();
            cells.filter(move |(_, cell)| cell.backend.word() == backend)
        };
        let subjects = in_order(of_world().map(|(_, cell)| cell.subject.name.as_str()));
        let scenarios = in_order(of_world().map(|(_, cell)| cell.scenario.as_str()));
        let row = |scenario: &str| {
            let of_row: Vec<(usize, &Cell)> = of_world()
                .filter(|(_, cell)| cell.scenario == scenario)
                .collect();
            let slots = |subject: &&str| -> Vec<Slot> {
                let found = of_row
                    .iter()
                    .filter(|(_, cell)| cell.subject.name == *subject);
                let slot = |(index, cell): &(usize, &Cell)| Slot {
                    index: *index,
                    tile: tile(cell),
                };
                found.map(slot).collect()
            };
            Row {
                scenario: name(scenario),
                summary: sentence(of_row.first().map_or("", |(_, cell)| cell.summary.as_str())),
                slots: subjects.iter().map(slots).collect(),
            }
        };
        World {
            backend: name(backend),
            rows: scenarios.iter().map(|scenario| row(scenario)).collect(),
            subjects: subjects.iter().map(|subject| name(subject)).collect(),
        }
    };
    backends.into_iter().map(world).collect()
}

/// The names without duplicates, in order of their first occurrence.
fn in_order<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut known = std::collections::HashSet::new();
    words.filter(|word| known.insert(*word)).collect()
}

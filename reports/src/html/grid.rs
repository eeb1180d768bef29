//! The matrix as tables: one for each backend, with a row per scenario and a column per lock.

use picklock_verdicts::record::Cell;

use super::name::{Name, name, sentence};
use super::tile::{Tile, tile};
use crate::matrix::distinct;

/// A table.
#[derive(Debug)]
pub(super) struct BackendGrid {
    pub(super) backend: Name,
    pub(super) locks: Vec<Name>,
    pub(super) rows: Vec<Row>,
}

/// A scenario.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) scenario: Name,
    pub(super) summary: Name,
    /// The cells of each lock in the table: none if it was not run, several if it was run more
    /// than once.
    pub(super) slots: Vec<Vec<Slot>>,
}

/// A cell, with a link to its details.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) index: usize,
    pub(super) tile: Tile,
}

pub(super) fn backends(cells: &[Cell]) -> Vec<BackendGrid> {
    let backends = distinct(cells.iter().map(|cell| cell.backend.word()));
    let backend = |backend: &str| {
        let of_backend = || {
            let cells = cells.iter().enumerate();
            cells.filter(move |(_, cell)| cell.backend.word() == backend)
        };
        let locks = distinct(of_backend().map(|(_, cell)| cell.lock.name.as_str()));
        let scenarios = distinct(of_backend().map(|(_, cell)| cell.scenario.as_str()));
        let row = |scenario: &str| {
            let of_row: Vec<(usize, &Cell)> = of_backend()
                .filter(|(_, cell)| cell.scenario == scenario)
                .collect();
            let slots = |lock: &&str| -> Vec<Slot> {
                let found = of_row
                    .iter()
                    .filter(|(_, cell)| cell.lock.name == *lock);
                let slot = |(index, cell): &(usize, &Cell)| Slot {
                    index: *index,
                    tile: tile(cell),
                };
                found.map(slot).collect()
            };
            Row {
                scenario: name(scenario),
                summary: sentence(of_row.first().map_or("", |(_, cell)| cell.summary.as_str())),
                slots: locks.iter().map(slots).collect(),
            }
        };
        BackendGrid {
            backend: name(backend),
            rows: scenarios.iter().map(|scenario| row(scenario)).collect(),
            locks: locks.iter().map(|lock| name(lock)).collect(),
        }
    };
    backends.into_iter().map(backend).collect()
}

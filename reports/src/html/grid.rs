//! The matrix as tables: one per backend, with a row per scenario and a column per lock. Scenarios are
//! grouped by family, worst first; locks are in the order of the scorecard.

use std::cmp::Reverse;

use picklock_scenarios::{BackendName, Family};
use picklock_verdicts::record::{Cell, MatrixRecord};

use super::cell_details::cell_ids;
use super::name::{Name, name, sentence};
use super::tile::{Tile, tile};
use super::tone::Tone;
use crate::matrix::{distinct, lock_with_options};
use crate::scorecard::Scorecard;
use crate::units::count;

pub(super) struct BackendGrid {
    pub(super) backend: Name,
    pub(super) locks: Vec<Name>,
    pub(super) families: Vec<FamilyRows>,
    /// For each lock, the number of scenarios that count and in which the lock itself is at fault.
    pub(super) own_faults: Vec<usize>,
}

impl BackendGrid {
    /// Returns `true` if the columns are wide enough for the names of the locks in one line each.
    pub(super) fn is_few(&self) -> bool {
        self.locks.len() <= MAX_FEW_LOCKS
    }
}

/// Maximum number of locks whose names fit above their columns on a wide screen.
const MAX_FEW_LOCKS: usize = 14;

/// The scenarios of a family.
pub(super) struct FamilyRows {
    /// The family's name and its results. Empty if the families of the scenarios are unknown.
    pub(super) title: String,
    pub(super) rows: Vec<Row>,
    /// Whether the rows are hidden at first.
    pub(super) is_folded: bool,
}

/// A scenario.
pub(super) struct Row {
    pub(super) scenario: Name,
    /// Whether a fault in this scenario counts. It does not if no lock can survive the scenario.
    pub(super) is_scored: bool,
    pub(super) summary: Name,
    /// The cells of each lock in the table: none if the lock was not run, several if it was run more than
    /// once.
    pub(super) slots: Vec<Vec<Slot>>,
}

/// A cell.
pub(super) enum Slot {
    /// A cell that was run, with the index of its evidence.
    Run {
        index: usize,
        id: String,
        tile: Tile,
    },
    /// A cell that was omitted, with the reason.
    Skipped(Name),
}

/// Returns the tables of a matrix.
pub(super) fn backends(matrix: &MatrixRecord) -> Vec<BackendGrid> {
    let run = matrix.cells.iter().map(|cell| cell.backend.as_str());
    let words = distinct(run.chain(matrix.skipped.iter().map(|one| one.backend.as_str())));
    let scorecard = Scorecard::from_matrix(matrix);
    let ranked = ranked_locks(matrix, scorecard.as_ref());
    let unscored = scorecard.map_or_else(Vec::new, |it| it.unscored);
    let backends = words.into_iter().filter_map(|word| word.parse().ok());
    let ids = cell_ids(&matrix.cells);
    let grids = backends.map(|backend| grid(matrix, backend, &ranked, &unscored, &ids));
    grids.collect()
}

/// Returns one cell of each lock, best lock first.
fn ranked_locks<'a>(matrix: &'a MatrixRecord, scorecard: Option<&Scorecard>) -> Vec<&'a Cell> {
    let mut locks: Vec<&Cell> = Vec::new();
    for cell in &matrix.cells {
        if !locks.iter().any(|lock| is_same_lock(lock, cell)) {
            locks.push(cell);
        }
    }
    if let Some(scorecard) = scorecard {
        let place = |lock: &Cell| {
            let name = lock_with_options(lock);
            scorecard.locks.iter().position(|score| score.lock == name)
        };
        locks.sort_by_cached_key(|lock| place(lock).unwrap_or(usize::MAX));
    }
    locks
}

/// Returns `true` if both cells have the same lock and options.
fn is_same_lock(one: &Cell, other: &Cell) -> bool {
    one.lock.name == other.lock.name && one.options == other.options
}

fn grid(
    matrix: &MatrixRecord,
    backend: BackendName,
    ranked: &[&Cell],
    unscored: &[String],
    ids: &[String],
) -> BackendGrid {
    let cells = matrix.cells.iter().enumerate();
    let cells: Vec<(usize, &Cell)> = cells.filter(|(_, cell)| cell.backend == backend).collect();
    let has_run = |lock: &&&Cell| cells.iter().any(|(_, cell)| is_same_lock(lock, cell));
    // A lock that was omitted everywhere has no column. The reasons are listed below the table.
    let locks: Vec<&Cell> = ranked.iter().filter(has_run).copied().collect();
    let mut families: Vec<(Option<Family>, Vec<Row>)> = Vec::new();
    let skipped = matrix.skipped.iter().filter(|one| one.backend == backend);
    let run = cells.iter().map(|(_, cell)| {
        let family = cell.setting.map(|setting| setting.family);
        (cell.scenario.as_str(), family, cell.summary.as_str())
    });
    let places = run.chain(skipped.map(|one| (one.scenario.as_str(), one.family, "")));
    let mut known: Vec<&str> = Vec::new();
    for (scenario, family, summary) in places {
        if known.contains(&scenario) {
            continue;
        }
        known.push(scenario);
        let slots = locks
            .iter()
            .map(|lock| slots(matrix, backend, scenario, lock, ids));
        let row = Row {
            scenario: name(scenario),
            is_scored: !unscored.iter().any(|it| it == scenario),
            summary: sentence(summary),
            slots: slots.collect(),
        };
        match families.iter_mut().find(|(known, _)| *known == family) {
            Some((_, rows)) => rows.push(row),
            None => families.push((family, vec![row])),
        }
    }
    let own_faults = own_faults(&families, locks.len());
    let green = take_green(&mut families);
    // Families with the most faults of locks come first, then those with other violations.
    families.sort_by_key(|(family, rows)| {
        let own = rows.iter().filter(|row| row.is_scored);
        let own: usize = own.map(Row::own_faults).sum();
        (Reverse(own), !rows.iter().any(Row::is_red), *family)
    });
    let names = locks.iter().map(|lock| name(&lock_with_options(lock)));
    let mut families: Vec<FamilyRows> = families.into_iter().map(family_rows).collect();
    families.extend(green);
    BackendGrid {
        backend: name(backend.as_str()),
        locks: names.collect(),
        families,
        own_faults,
    }
}

/// Removes the rows in which every lock held, if there are several, and returns them as one folded family.
fn take_green(families: &mut Vec<(Option<Family>, Vec<Row>)>) -> Option<FamilyRows> {
    let rows = families.iter().flat_map(|(_, rows)| rows);
    if rows.filter(|row| row.is_green()).count() < MIN_FOLDED {
        return None;
    }
    let mut green: Vec<Row> = Vec::new();
    for (_, rows) in families.iter_mut() {
        green.extend(rows.extract_if(.., |row| row.is_green()));
    }
    families.retain(|(_, rows)| !rows.is_empty());
    Some(FamilyRows {
        title: format!(
            "{} in which every lock held",
            count(green.len(), "scenario")
        ),
        rows: green,
        is_folded: true,
    })
}

/// Minimum number of green rows that are folded.
const MIN_FOLDED: usize = 2;

/// Returns, for each of `locks` columns, the number of scenarios that count and in which the lock itself is at fault.
fn own_faults(families: &[(Option<Family>, Vec<Row>)], locks: usize) -> Vec<usize> {
    let rows = || {
        let rows = families.iter().flat_map(|(_, rows)| rows);
        rows.filter(|row| row.is_scored)
    };
    let is_own = |slot: &Slot| matches!(slot, Slot::Run { tile, .. } if tile.tone == Tone::Lock);
    let count = |lock: usize| {
        let slots = rows().filter_map(|row| row.slots.get(lock));
        slots.filter(|slots| slots.iter().any(is_own)).count()
    };
    (0..locks).map(count).collect()
}

fn slots(
    matrix: &MatrixRecord,
    backend: BackendName,
    scenario: &str,
    lock: &Cell,
    ids: &[String],
) -> Vec<Slot> {
    let cells = matrix.cells.iter().enumerate();
    let here = cells.filter(|(_, cell)| {
        cell.backend == backend && cell.scenario == scenario && is_same_lock(lock, cell)
    });
    let run = here.map(|(index, cell)| Slot::Run {
        index,
        id: ids[index].clone(),
        tile: tile(cell),
    });
    // An omitted cell does not record the options of its lock.
    let skipped = matrix.skipped.iter().filter(|one| {
        one.backend == backend && one.scenario == scenario && one.lock == lock.lock.name
    });
    run.chain(skipped.map(|one| Slot::Skipped(sentence(&one.reason))))
        .collect()
}

fn family_rows((family, mut rows): (Option<Family>, Vec<Row>)) -> FamilyRows {
    // A row that does not count must not be the first that a reader sees.
    rows.sort_by_key(|row| (!row.is_scored, row.order()));
    let red = rows.iter().filter(|row| row.is_red()).count();
    let scenarios = count(rows.len(), "scenario");
    let title = family.map(Family::as_str);
    let title = title.map(|name| format!("{name}: {scenarios}, violations in {red}"));
    FamilyRows {
        title: title.unwrap_or_default(),
        rows,
        is_folded: false,
    }
}

impl Row {
    fn tiles(&self) -> impl Iterator<Item = &Tile> {
        let slots = self.slots.iter().flatten();
        slots.filter_map(|slot| match slot {
            Slot::Run { tile, .. } => Some(tile),
            Slot::Skipped(_) => None,
        })
    }

    /// Returns `true` if every cell held as expected, or is not applicable.
    fn is_green(&self) -> bool {
        let is_good = |tile: &Tile| matches!(tile.tone, Tone::Held | Tone::Absent);
        self.tiles().next().is_some()
            && self
                .tiles()
                .all(|tile| is_good(tile) && tile.flag.is_empty())
    }

    fn is_red(&self) -> bool {
        self.tiles().any(|tile| tile.tone.is_red())
    }

    fn own_faults(&self) -> usize {
        self.tiles().filter(|tile| tile.tone == Tone::Lock).count()
    }

    /// Sorts rows worst first: unexpected results, then faults of locks, then other violations.
    fn order(&self) -> Reverse<(usize, usize, usize)> {
        let tiles = |is: &dyn Fn(&Tile) -> bool| self.tiles().filter(|tile| is(tile)).count();
        Reverse((
            tiles(&|tile| tile.is_unexpected),
            self.own_faults(),
            tiles(&|tile| tile.tone.is_red()),
        ))
    }
}

//! Counts how often a violation occurred.

use picklock_verdicts::check::{Cause, Property};
use picklock_verdicts::record::Cell;

/// Nine of ten: a violation that occurs less often is not reproducible.
const REPEATS: (u64, u64) = (9, 10);

/// The number of runs with a violation, out of the conclusive ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Number of runs with the violation.
    pub runs: u64,
    /// Number of conclusive runs.
    pub judged: u64,
}

impl Seen {
    /// Counts how often a property was violated, with `cause` if one is given.
    pub fn of(cell: &Cell, property: Property, cause: Option<Cause>) -> Seen {
        let Some(tally) = cell.tally.get(&property) else {
            return Seen { runs: 0, judged: 0 };
        };
        let runs = match cause {
            Some(cause) => tally.causes.get(&cause).copied().unwrap_or_default(),
            None => tally.violated,
        };
        let judged = tally.held + tally.violated + tally.not_applicable;
        Seen { runs, judged }
    }

    /// Returns `true` if the violation occurred in at least nine of ten runs.
    pub fn is_repeated(self) -> bool {
        let (part, whole) = REPEATS;
        self.judged > 0 && self.runs * whole >= self.judged * part
    }

    /// Formats the count: `10 of 10 runs`.
    pub fn describe(self) -> String {
        match self.judged {
            1 => format!("{} of 1 run", self.runs),
            _ => format!("{} of {} runs", self.runs, self.judged),
        }
    }
}

/// Returns the cell of a lock in a scenario. If there are several, returns the one with the most runs.
pub fn cell<'a>(cells: &'a [Cell], lock: &str, scenario: &str) -> Option<&'a Cell> {
    let all = cells
        .iter()
        .filter(|cell| cell.lock.name == lock && cell.scenario == scenario);
    // Of cells with equally many runs, take the last one: its file was passed later.
    all.max_by_key(|cell| cell.runs)
}

/// Returns the cells of a lock, one per scenario, in the order in which the scenarios first occur.
pub fn cells_of<'a>(cells: &'a [Cell], lock: &str) -> Vec<&'a Cell> {
    let mut scenarios: Vec<&str> = Vec::new();
    for one in cells.iter().filter(|cell| cell.lock.name == lock) {
        if !scenarios.contains(&one.scenario.as_str()) {
            scenarios.push(&one.scenario);
        }
    }
    let best = |scenario: &str| cell(cells, lock, scenario);
    scenarios.into_iter().filter_map(best).collect()
}

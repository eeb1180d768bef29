//! How often something came out.

use picklock_verdicts::check::{Cause, Property};
use picklock_verdicts::record::Cell;

/// Nine of ten: below that, a violation does not repeat.
const REPEATS: (u64, u64) = (9, 10);

/// A violation in some of the runs that could be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// In how many.
    pub runs: u64,
    /// Of how many that could be judged.
    pub judged: u64,
}

impl Seen {
    /// How often a property was violated, for this cause if one is named.
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

    /// True if it came out in nine of ten runs or more.
    pub fn is_repeated(self) -> bool {
        let (part, whole) = REPEATS;
        self.judged > 0 && self.runs * whole >= self.judged * part
    }

    /// `10 of 10 runs`.
    pub fn describe(self) -> String {
        match self.judged {
            1 => format!("{} of 1 run", self.runs),
            _ => format!("{} of {} runs", self.runs, self.judged),
        }
    }
}

/// The cell of a lock under a scenario: the one with the most runs.
pub fn cell<'a>(cells: &'a [Cell], lock: &str, scenario: &str) -> Option<&'a Cell> {
    let all = cells
        .iter()
        .filter(|cell| cell.lock.name == lock && cell.scenario == scenario);
    // The later one, where two have as many: it was named later.
    all.max_by_key(|cell| cell.runs)
}

/// The cells of a lock, one for each scenario, in the order in which the scenarios first occur.
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

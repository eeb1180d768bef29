//! The scorecard: one row for each lock of a matrix, the best first, and which lock is for what.
//!
//! A function of the matrix alone. Nothing is said of what was not tried, except that it was not.

mod advice;
mod costs;
mod lock_score;
mod outcome;
mod words;

use std::cmp::Ordering;

use picklock_scenarios::Family;
use picklock_verdicts::record::{Cell, MatrixRecord};
use serde::Serialize;

use crate::matrix::{distinct, lock_with_options};
pub use advice::{Basis, Choice, Purpose};
pub use costs::{Costs, Percentiles};
pub use lock_score::{FamilyScore, Fencing, LockScore};
pub use outcome::ScenarioScore;

/// Fewer scenarios are no comparison.
const FEWEST_SCENARIOS: usize = 2;

/// All locks of a matrix, compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scorecard {
    /// Which lock is for what.
    pub advice: Vec<Advice>,
    /// The locks, the best first: by the share of scenarios that they survive, then by how often the fault
    /// is their own, then by what they need and cost.
    pub locks: Vec<LockScore>,
    /// Families of which no lock was tried in any scenario.
    pub untested: Vec<Family>,
}

/// A lock for a purpose, or why none is named.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// What for.
    pub purpose: Purpose,
    /// Which lock.
    pub choice: Choice,
    /// All of it in words.
    pub words: String,
}

impl Scorecard {
    /// The scorecard of a matrix; `None`: it is too small to compare anything, or from a version that did
    /// not write down what scenarios are about.
    pub fn from_matrix(record: &MatrixRecord) -> Option<Scorecard> {
        let known = || record.cells.iter().filter(|cell| cell.setting.is_some());
        let scenarios = distinct(known().map(|cell| cell.scenario.as_str()));
        if scenarios.len() < FEWEST_SCENARIOS {
            return None;
        }
        let mut scores: Vec<LockScore> = Vec::new();
        for cell in known() {
            let name = lock_with_options(cell);
            if scores.iter().all(|score| score.lock != name) {
                let same = known().filter(|one| lock_with_options(one) == name);
                let same: Vec<&Cell> = same.collect();
                scores.push(LockScore::new(name, &same));
            }
        }
        let advice = Purpose::ALL.map(|purpose| {
            let (choice, chosen) = advice::choose(purpose, &scores);
            Advice {
                purpose,
                words: words::advice(purpose, &choice, chosen),
                choice,
            }
        });
        // Stable: among equals the order of the matrix remains, which has simple locks first.
        scores.sort_by(|one, other| {
            let [one, other] = [one, other].map(LockScore::rank);
            one.partial_cmp(&other).unwrap_or(Ordering::Equal)
        });
        Some(Scorecard {
            advice: advice.into(),
            untested: advice::untested(&Family::ALL, &scores),
            locks: scores,
        })
    }
}

//! The scorecard: one row per lock of a matrix, best lock first, and recommendations.
//!
//! It is a function of the matrix alone. It makes no statement about untested scenarios, except that they are
//! untested.

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

/// Minimum number of scenarios for a comparison.
const MIN_SCENARIOS: usize = 2;

/// A comparison of all locks of a matrix.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scorecard {
    /// Recommendations by purpose.
    pub advice: Vec<Advice>,
    /// The locks, best first: by the share of scenarios that they survive, then by how often they are at
    /// fault, then by requirements and costs.
    pub locks: Vec<LockScore>,
    /// Families without any tested scenario.
    pub untested: Vec<Family>,
}

/// The recommendation for a purpose.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// The purpose.
    pub purpose: Purpose,
    /// The recommendation.
    pub choice: Choice,
    /// The recommendation as text.
    pub words: String,
}

impl Scorecard {
    /// Creates the scorecard of a matrix. Returns `None` if the matrix is too small for a comparison, or if
    /// its version did not record the settings of scenarios.
    pub fn from_matrix(record: &MatrixRecord) -> Option<Scorecard> {
        let known = || record.cells.iter().filter(|cell| cell.setting.is_some());
        let scenarios = distinct(known().map(|cell| cell.scenario.as_str()));
        if scenarios.len() < MIN_SCENARIOS {
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
        // The sort is stable: equals stay in the order of the matrix, which has simple locks first.
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

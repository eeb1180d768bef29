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
    /// The locks, best first: by how often they are at fault, then by the share of scenarios that they survive, then
    /// by requirements and costs.
    pub locks: Vec<LockScore>,
    /// Scenarios in which every lock failed. They do not distinguish the locks, so they do not count for the ranks.
    /// Damage to the stock in them counts for the recommendations.
    pub unscored: Vec<String>,
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
    /// The recommended lock, or the words for no recommendation.
    pub pick: String,
    /// The reason, in half a sentence.
    pub reason: String,
    /// Needs of the recommended lock, such as `1 node`. Empty if no lock is recommended.
    pub needs: String,
    /// The recommendation with its evidence.
    pub words: String,
}

/// Returns the scenarios that do not distinguish the locks: every lock failed, either without being responsible, or
/// with several locks failing as expected.
fn unscored<'a>(cells: &[&'a Cell]) -> Vec<&'a str> {
    let scenarios = distinct(cells.iter().map(|cell| cell.scenario.as_str()));
    let is_unscored = |scenario: &&str| {
        let here = || cells.iter().filter(|cell| cell.scenario == *scenario);
        let mut outcomes: Vec<ScenarioScore> = Vec::new();
        outcomes.extend(here().filter_map(|cell| ScenarioScore::from_cell(cell)));
        let is_expected = |cell: &&&Cell| cell.is_as_expected() && cell.is_bound();
        let is_outside = outcomes.iter().all(|it| *it == ScenarioScore::Outside);
        !outcomes.is_empty()
            && outcomes.iter().all(|it| !it.is_survived())
            && (is_outside || here().filter(is_expected).count() > 1)
    };
    scenarios.into_iter().filter(is_unscored).collect()
}

impl Scorecard {
    /// Returns one line about the scenarios that do not count, or `None` if there are none.
    pub fn describe_unscored(&self) -> Option<String> {
        let names = words::named(&self.unscored);
        let text = format!("Not counted, because every lock here fails in them: {names}.");
        (!names.is_empty()).then_some(text)
    }

    /// Creates the scorecard of a matrix. Returns `None` if the matrix is too small for a comparison, or if
    /// its version did not record the settings of scenarios.
    pub fn from_matrix(record: &MatrixRecord) -> Option<Scorecard> {
        let known = || record.cells.iter().filter(|cell| cell.setting.is_some());
        let scenarios = distinct(known().map(|cell| cell.scenario.as_str()));
        if scenarios.len() < MIN_SCENARIOS {
            return None;
        }
        let cells: Vec<&Cell> = known().collect();
        let unscored = unscored(&cells);
        let is_scored = |cell: &&Cell| !unscored.contains(&cell.scenario.as_str());
        let mut scores: Vec<LockScore> = Vec::new();
        for cell in known().filter(is_scored) {
            let name = lock_with_options(cell);
            if scores.iter().all(|score| score.lock != name) {
                let all = known().filter(|one| lock_with_options(one) == name);
                let all: Vec<&Cell> = all.collect();
                let scored: Vec<&Cell> = all.iter().copied().filter(is_scored).collect();
                scores.push(LockScore::new(name, &scored, &all));
            }
        }
        let advice = Purpose::ALL.map(|purpose| {
            let (choice, chosen) = advice::choose(purpose, &scores);
            Advice {
                purpose,
                pick: words::pick(&choice),
                reason: words::reason(purpose, &choice, chosen),
                needs: chosen.map_or(String::new(), LockScore::needs),
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
            unscored: unscored.into_iter().map(str::to_owned).collect(),
            untested: advice::untested(&Family::ALL, &scores),
            locks: scores,
        })
    }
}

//! The outcome for a lock in one scenario, over all runs of a cell.

use picklock_scenarios::{Cause, Property};
use picklock_verdicts::record::Cell;
use serde::Serialize;

use crate::matrix::CellOutcome;
use crate::responsibility::{Blame, Party};

/// The outcome, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScenarioScore {
    /// No property was violated.
    Held,
    /// Two clients held the lock at once, and the fencing tokens protected the stock.
    Fenced,
    /// The lock was right, and the application or the resource damaged the stock.
    Outside,
    /// A client is responsible for the violation.
    Client,
    /// Redis lost the key, and the lock relied on Redis.
    Redis,
    /// The history does not show who is responsible.
    Undetermined,
    /// The lock's own commands are responsible.
    Lock,
}

impl ScenarioScore {
    /// Returns `true` if nothing was damaged.
    pub fn is_survived(self) -> bool {
        matches!(self, ScenarioScore::Held | ScenarioScore::Fenced)
    }

    /// Returns the outcome of a cell, or `None` if nothing was judged.
    pub fn from_cell(cell: &Cell) -> Option<ScenarioScore> {
        let blame = Blame::from_cell(cell);
        if blame.is_fenced() {
            return Some(ScenarioScore::Fenced);
        }
        if let Some(party) = blame.worst() {
            return Some(party.into());
        }
        let is_judged = matches!(
            CellOutcome::from_cell(cell),
            CellOutcome::AsExpected | CellOutcome::Unexpected | CellOutcome::HeldNoExpectation
        );
        let unknown = cell.tally.values().any(|tally| tally.unknown > 0);
        (is_judged && !unknown && !cell.tally.is_empty()).then_some(ScenarioScore::Held)
    }

    /// Returns who is responsible for damage to the stock, or `None` if there was none or it was not judged.
    pub fn from_harm(cell: &Cell) -> Option<ScenarioScore> {
        Blame::from_cell(cell)
            .party(Property::Resource)
            .map(ScenarioScore::from)
    }
}

impl From<Party> for ScenarioScore {
    fn from(party: Party) -> ScenarioScore {
        match party {
            Party::Outside => ScenarioScore::Outside,
            Party::Client => ScenarioScore::Client,
            Party::Redis => ScenarioScore::Redis,
            Party::Undetermined => ScenarioScore::Undetermined,
            Party::Lock => ScenarioScore::Lock,
        }
    }
}

/// Returns the causes of the violations of a property.
pub(super) fn causes(cell: &Cell, property: Property) -> impl Iterator<Item = Cause> {
    let tally = cell.tally.get(&property);
    tally
        .into_iter()
        .flat_map(|tally| tally.causes.keys().copied())
}

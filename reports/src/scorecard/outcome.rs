//! What came out for a lock in one scenario, over all runs of a cell.

use picklock_scenarios::{Cause, Property, Responsible};
use picklock_verdicts::record::Cell;
use serde::Serialize;

use crate::matrix::CellOutcome;

/// What came out, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScenarioScore {
    /// Nothing was violated.
    Held,
    /// Two clients were inside together, and the fencing tokens kept the stock from harm.
    Fenced,
    /// The lock was right, and the application around it or the resource spoilt the stock.
    Outside,
    /// A client is responsible for what was violated.
    Client,
    /// Redis lost the lock, and the lock relied on it.
    Redis,
    /// The history does not show who is responsible.
    Undetermined,
    /// The lock's own commands are responsible.
    Lock,
}

impl ScenarioScore {
    /// True if nothing came to harm.
    pub fn is_survived(self) -> bool {
        matches!(self, ScenarioScore::Held | ScenarioScore::Fenced)
    }

    /// What came out in a cell; `None`: nothing was judged.
    pub fn from_cell(cell: &Cell) -> Option<ScenarioScore> {
        let violated = || cell.tally.iter().filter(|(_, tally)| tally.violated > 0);
        let blamed = violated().map(|(property, _)| blame(cell, *property));
        if let Some(worst) = blamed.max() {
            let of_overlaps =
                |property: &Property| matches!(property, Property::Exclusion | Property::Lease);
            let is_fenced = worst <= ScenarioScore::Redis
                && violated().all(|(property, _)| of_overlaps(property))
                && has_held(cell, Property::Fencing)
                && has_held(cell, Property::Resource);
            return Some(match is_fenced {
                true => ScenarioScore::Fenced,
                false => worst,
            });
        }
        let is_judged = matches!(
            CellOutcome::from_cell(cell),
            CellOutcome::AsExpected | CellOutcome::Unexpected | CellOutcome::HeldNoExpectation
        );
        let unknown = cell.tally.values().any(|tally| tally.unknown > 0);
        (is_judged && !unknown && !cell.tally.is_empty()).then_some(ScenarioScore::Held)
    }

    /// Who is responsible for the harm to the stock; `None`: it came to none, or that was not judged.
    pub fn of_harm(cell: &Cell) -> Option<ScenarioScore> {
        let tally = cell.tally.get(&Property::Resource)?;
        (tally.violated > 0).then(|| blame(cell, Property::Resource))
    }
}

fn has_held(cell: &Cell, property: Property) -> bool {
    let tally = cell.tally.get(&property);
    tally.is_some_and(|tally| tally.held > 0 && tally.violated == 0)
}

/// Who is responsible for the violations of a property, the worst of all runs.
fn blame(cell: &Cell, property: Property) -> ScenarioScore {
    let causes = causes(cell, property).map(|cause| match cause.responsible() {
        Responsible::Client(_) => ScenarioScore::Client,
        Responsible::Redis => ScenarioScore::Redis,
        Responsible::Application(_) | Responsible::Resource(_) => ScenarioScore::Outside,
        Responsible::Lock => ScenarioScore::Lock,
        Responsible::Undetermined => ScenarioScore::Undetermined,
    });
    causes.max().unwrap_or(ScenarioScore::Undetermined)
}

/// The causes of the violations of a property.
pub(super) fn causes(cell: &Cell, property: Property) -> impl Iterator<Item = Cause> {
    let tally = cell.tally.get(&property);
    tally
        .into_iter()
        .flat_map(|tally| tally.causes.keys().copied())
}

//! Known violations: a gate reports them, and fails only because of other violations, or once the date has passed.

use std::collections::BTreeMap;

use picklock_verdicts::check::Property;
use picklock_verdicts::record::Cell;

use super::cell_key::CellKey;
use super::finding::{Finding, Kind};
use super::rules::Accepted;

/// Removes the findings about known violations. If the date of a known violation has passed, its finding stays, with a
/// note.
pub(super) fn apply_accepted(
    cell: &Cell,
    accepts: &BTreeMap<Property, Accepted>,
    findings: &mut Vec<Finding>,
) {
    findings.retain_mut(|finding| {
        let known_of = |property: &Property| {
            let known = accepts.get(property);
            known.filter(|known| is_known(cell, *property, known))
        };
        // One story may violate several properties. All of them must be known.
        let known: Option<Vec<&Accepted>> = finding.properties.iter().map(known_of).collect();
        let Some(known) = known.filter(|known| finding.kind == Kind::Verdict && !known.is_empty())
        else {
            return true;
        };
        let over: Vec<&&Accepted> = known.iter().filter(|known| known.is_over).collect();
        for Accepted { until, reason, .. } in &over {
            let over = format!("; it was accepted until {until}, which has passed: {reason}");
            finding.problem.push_str(&over);
        }
        !over.is_empty()
    });
}

/// Returns a sentence for each known violation of the cell that is accepted, whether or not it occurred in the runs.
pub(super) fn accepted(cell: &Cell, accepts: &BTreeMap<Property, Accepted>) -> Vec<String> {
    let of_cell = accepts.iter().filter(|(_, known)| !known.is_over);
    let sentence = |(property, known): (&Property, &Accepted)| {
        let Accepted { until, reason, .. } = known;
        let key = CellKey::new(cell);
        // A cell that was not run, or is inconclusive, shows nothing about the violation.
        let tally = cell.tally.get(property)?;
        match (tally.violated, is_known(cell, *property, known)) {
            (0, _) if tally.held == 0 => None,
            (0, _) => Some(format!(
                "{key}: {property} was not violated; if it is fixed, remove its [[accept]] table ({reason})"
            )),
            (_, true) => Some(format!(
                "{key}: {property} violated, accepted until {until}: {reason}"
            )),
            (_, false) => None,
        }
    };
    of_cell.filter_map(sentence).collect()
}

fn is_known(cell: &Cell, property: Property, known: &Accepted) -> bool {
    let causes = cell.tally.get(&property).map(|tally| tally.causes.keys());
    known.covers(causes.into_iter().flatten())
}

//! Known violations: a gate reports them, and fails only because of others, or once the date has passed.

use std::collections::BTreeMap;

use picklock_verdicts::check::Property;
use picklock_verdicts::record::Cell;

use super::cell_key::CellKey;
use super::finding::Finding;
use super::rules::Accepted;

/// Removes the findings about known violations, and adds to those whose date has passed that it has.
pub(super) fn apply_accepted(
    cell: &Cell,
    accepts: &BTreeMap<Property, Accepted>,
    findings: &mut Vec<Finding>,
) {
    findings.retain_mut(|finding| {
        let known = finding
            .property
            .and_then(|it| Some((it, accepts.get(&it)?)));
        let Some((_, known)) = known.filter(|(it, known)| is_known(cell, *it, known)) else {
            return true;
        };
        if known.is_over {
            let Accepted { until, reason, .. } = known;
            let over = format!("; it was accepted until {until}, which has passed: {reason}");
            finding.problem.push_str(&over);
        }
        known.is_over
    });
}

/// Returns a sentence for each known violation of the cell that is accepted, whether or not it occurred.
pub(super) fn accepted(cell: &Cell, accepts: &BTreeMap<Property, Accepted>) -> Vec<String> {
    let of_cell = accepts.iter().filter(|(_, known)| !known.is_over);
    let sentence = |(property, known): (&Property, &Accepted)| {
        let Accepted { until, reason, .. } = known;
        let key = CellKey::new(cell);
        let violated = cell.tally.get(property).map_or(0, |tally| tally.violated);
        match (violated, is_known(cell, *property, known)) {
            (0, _) => Some(format!(
                "{key}: {property} was not violated; if it is mended, remove its [[accept]] ({reason})"
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

//! The results for a property of a cell, and their comparison between two servers.

use std::collections::BTreeSet;

use picklock_verdicts::check::{Property, Status};
use picklock_verdicts::expectation::Expectation;
use picklock_verdicts::record::{Cell, Tally};

/// The similarity of two cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Similarity {
    /// The same results.
    Same,
    /// One of them was not run or was inconclusive.
    Unclear,
    /// Different results.
    Differs,
}

/// The results that occurred, each with its cause.
type Results<'a> = BTreeSet<(&'static str, &'a str)>;

/// Compares two cells in this property. If the scenario has no expectation in either cell, any result may occur on
/// any server, and the cells do not differ.
pub fn compare(one: &Cell, other: &Cell, property: Property) -> Similarity {
    if one.error.is_some() || other.error.is_some() {
        return Similarity::Unclear;
    }
    let is_open = |cell: &Cell| {
        cell.expected
            .get(&property)
            .is_some_and(|it| matches!(it, Expectation::Any { .. }))
    };
    if is_open(one) && is_open(other) {
        return Similarity::Same;
    }
    let (one, other) = (results(one, property), results(other, property));
    let (judged_one, judged_other) = (judged(&one), judged(&other));
    if one == other || (judged_one == judged_other && !judged_one.is_empty()) {
        Similarity::Same
    } else if judged_one.is_empty() || judged_other.is_empty() {
        Similarity::Unclear
    } else {
        Similarity::Differs
    }
}

fn judged<'a>(results: &Results<'a>) -> Results<'a> {
    let unknown = Status::Unknown.as_str();
    let all = results.iter().copied();
    all.filter(|(status, _)| *status != unknown).collect()
}

/// Compares two cells: their worst property decides.
pub fn compare_cells(one: &Cell, other: &Cell) -> Similarity {
    let each = Property::ALL
        .into_iter()
        .map(|property| compare(one, other, property));
    each.max().unwrap_or(Similarity::Same)
}

fn results(cell: &Cell, property: Property) -> Results<'_> {
    let Some(tally) = cell.tally.get(&property) else {
        return Results::new();
    };
    let mut results = Results::new();
    for (status, runs) in by_status(tally) {
        match status {
            _ if runs == 0 => {}
            Status::Violated if !tally.causes.is_empty() => {
                let causes = tally.causes.keys();
                results.extend(causes.map(|cause| (status.as_str(), cause.as_str())));
            }
            _ => {
                results.insert((status.as_str(), ""));
            }
        }
    }
    results
}

fn by_status(tally: &Tally) -> [(Status, u64); 4] {
    [
        (Status::Held, tally.held),
        (Status::Violated, tally.violated),
        (Status::Unknown, tally.unknown),
        (Status::NotApplicable, tally.not_applicable),
    ]
}

/// Formats the results: `held`, `violated: race`, or for several runs `held in 17, violated in 3: race`. Causes are
/// Picklock's own words.
pub fn describe(cell: &Cell, property: Property) -> String {
    let Some(tally) = cell.tally.get(&property) else {
        return Status::NotApplicable.sign().to_owned();
    };
    let mut parts = Vec::new();
    for (status, runs) in by_status(tally) {
        if runs == 0 {
            continue;
        }
        let mut part = match status {
            Status::NotApplicable => status.sign().to_owned(),
            Status::Violated => format!("**{}**", status.as_str()),
            _ => status.as_str().to_owned(),
        };
        if cell.runs > 1 {
            part.push_str(&format!(" in {runs}"));
        }
        if status == Status::Violated && !tally.causes.is_empty() {
            let causes: Vec<&str> = tally.causes.keys().map(|cause| cause.as_str()).collect();
            part.push_str(&format!(": {}", causes.join(" or ")));
        }
        parts.push(part);
    }
    parts.join(", ")
}

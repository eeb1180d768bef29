//! What came out for a property of a cell, and whether it is the same on two servers.

use std::collections::BTreeSet;

use picklock_verdicts::check::{Property, Status};
use picklock_verdicts::expectation::Expectation;
use picklock_verdicts::record::{Cell, Tally};

/// How two cells compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Similarity {
    /// The same results.
    Same,
    /// On one of them it was not run, or could not be judged.
    Unclear,
    /// Other results.
    Differs,
}

/// The results that occurred, each with its cause.
type Results<'a> = BTreeSet<(&'static str, &'a str)>;

/// How this property compares. Where the scenario leaves it open on both, either result may come out on
/// any server, and is no difference.
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

/// How the cells compare: as their worst property does.
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

/// The results in words: `held`, `violated: race`, and of several runs
/// `held in 17, violated in 3: race`. Causes are words of Picklock's own.
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

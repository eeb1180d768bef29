//! Compares verdicts with expectations over all runs of a cell.

use std::collections::{BTreeMap, BTreeSet};

use picklock_verdicts::check::{Cause, Property, Status, Verdict, describe, machine_was_too_slow};
use picklock_verdicts::expectation::Expectation;
use picklock_verdicts::record::{Cell, Tally};

use super::cell_key::CellKey;
use super::finding::{EXPECT, Finding, Kind};
use super::limit::Limit;

/// Returns a finding for every expectation of the cell that was not met.
pub(super) fn against_expectations(
    cell: &Cell,
    expected: &BTreeMap<Property, Expectation>,
) -> Vec<Finding> {
    let judged: Vec<Judged<'_>> = expected
        .iter()
        .map(|(property, expected)| Judged {
            cell,
            property: *property,
            expected,
        })
        .collect();
    let mut found: Vec<Finding> = judged.iter().filter_map(Judged::violated).collect();
    found.extend(unexpected_pass(cell, &judged));
    found.extend(inconclusive(cell, &judged));
    found
}

/// Returns one finding for all expected violations of a cell that did not occur, or `None` if there are none.
fn unexpected_pass(cell: &Cell, judged: &[Judged<'_>]) -> Option<Finding> {
    let passed = affected(judged, Judged::passed_runs);
    let mut finding = finding_about(cell, Kind::UnexpectedPass, "held", &passed)?;
    let held = shown(&passed, Status::Held);
    finding.story = held.iter().flat_map(|it| it.story.clone()).collect();
    let help = if finding.story.is_empty() {
        "an expected violation did not occur: either the fault had no effect, or the lock kept the others out for longer than its lease (then find out why), or it cannot be broken like this any more (then change the expectation)"
    } else {
        "an expected violation did not occur, for the reason above: let what a client holds expire with its lease, or change the expectation if the lock never expires on purpose"
    };
    finding.help = Some(help.to_owned());
    if !held.is_empty() {
        finding.reproduce = Some(cell.reproduce.clone());
    }
    Some(finding)
}

/// Returns one finding for all properties of a cell that some run did not decide, or `None` if there are none.
fn inconclusive(cell: &Cell, judged: &[Judged<'_>]) -> Option<Finding> {
    let undecided = affected(judged, Judged::undecided_runs);
    let mut finding = finding_about(cell, Kind::Inconclusive, "unknown", &undecided)?;
    let unknown = shown(&undecided, Status::Unknown);
    let lines = unknown.iter().flat_map(|verdict| &verdict.story);
    let mut seen = BTreeSet::new();
    let first = lines.filter(|line| seen.insert(*line));
    finding.story.extend(first.cloned());
    if !unknown.is_empty() {
        finding.reproduce = Some(cell.reproduce.clone());
    }
    let was_slow = machine_was_too_slow(&cell.verdicts);
    let help = match (has_unexpected_violation(cell, judged), was_slow) {
        (true, _) => "the violation in this cell comes first; without it, the rest can be judged",
        (false, true) => {
            "this does not show anything about the lock: run the gate again on a less busy machine"
        }
        (false, false) => {
            "this does not show anything about the lock yet: fix the cause of the reason, or add an [[expect]] table that accepts it (\"any: REASON\")"
        }
    };
    Some(finding.help(help))
}

/// Returns `true` if a property of the cell is violated, and the violation is not the expected one.
fn has_unexpected_violation(cell: &Cell, judged: &[Judged<'_>]) -> bool {
    let is_unexpected = |property: Property| {
        let mut expected = judged.iter().filter(|one| one.property == property);
        expected.next().is_none_or(|one| one.violated().is_some())
    };
    let mut tallies = cell.tally.iter();
    tallies.any(|(property, tally)| tally.violated > 0 && is_unexpected(*property))
}

/// A property of a cell, and the number of affected runs.
type Affected<'a> = (&'a Judged<'a>, u64);

/// Returns the properties that affect at least one run, by `runs`.
fn affected<'a>(judged: &'a [Judged<'a>], runs: fn(&Judged<'a>) -> u64) -> Vec<Affected<'a>> {
    let counted = judged.iter().map(|one| (one, runs(one)));
    counted.filter(|(_, runs)| *runs > 0).collect()
}

/// Returns the verdicts of the shown run on these properties that have this status.
fn shown<'a>(affected: &[Affected<'a>], status: Status) -> Vec<&'a Verdict> {
    let verdicts = affected.iter().filter_map(|(one, _)| one.shown());
    verdicts
        .filter(|verdict| verdict.status == status)
        .collect()
}

/// Returns a finding about some properties of a cell, or `None` if there are none. Properties with the same expectation
/// share a line.
fn finding_about(cell: &Cell, kind: Kind, got: &str, affected: &[Affected<'_>]) -> Option<Finding> {
    let mut lines: Vec<(&Expectation, u64, Vec<&str>)> = Vec::new();
    for (one, runs) in affected {
        let name = one.property.as_str();
        let line = lines
            .iter_mut()
            .find(|(expected, of_line, _)| *expected == one.expected && of_line == runs);
        match line {
            Some((_, _, names)) => names.push(name),
            None => lines.push((one.expected, *runs, vec![name])),
        }
    }
    let lines: Vec<String> = lines
        .into_iter()
        .map(|(expected, runs, names)| {
            let often = how_often(runs, cell.runs);
            format!("{} {got}{often}, expected {expected}", names.join(", "))
        })
        .collect();
    if lines.is_empty() {
        return None;
    }
    let mut finding = Finding::new(kind, &CellKey::new(cell), lines.join("\n"));
    finding.properties = affected.iter().map(|(one, _)| one.property).collect();
    Some(finding)
}

/// Formats the number of affected runs. Returns an empty text if the cell has only one run.
fn how_often(runs: u64, all: u64) -> String {
    match all {
        1 => String::new(),
        all => format!(" in {runs} of {all} runs"),
    }
}

/// Returns a finding for every violation without an expectation. A violation that a limit counts is left to
/// that limit.
pub(super) fn violations_without_expectation(cell: &Cell, limits: &[Limit]) -> Vec<Finding> {
    let is_counted = |property: Property| {
        let word = format!("violations.{property}");
        limits.iter().any(|limit| limit.metric.as_str() == word)
    };
    let all = cell.tally.iter().map(|(it, tally)| (*it, tally.violated));
    let uncounted = all.filter(|(property, times)| *times > 0 && !is_counted(*property));
    let finding = |(property, times): (Property, u64)| {
        let problem = format!(
            "{property} was violated in {times} of {} runs, without an expectation",
            cell.runs
        );
        let mut finding = Finding::new(Kind::Verdict, &CellKey::new(cell), problem).help(EXPECT);
        finding.rank = describe(property).severity;
        finding.properties = vec![property];
        let shown = cell.verdicts.get(&property);
        let shown = shown.filter(|one| one.status == Status::Violated);
        finding.shown_by(cell, shown)
    };
    uncounted.map(finding).collect()
}

/// One property of one cell.
struct Judged<'a> {
    cell: &'a Cell,
    property: Property,
    expected: &'a Expectation,
}

impl<'a> Judged<'a> {
    fn tally(&self) -> Tally {
        let tally = self.cell.tally.get(&self.property);
        tally.cloned().unwrap_or_default()
    }

    /// Returns the number of runs in which an expected violation did not occur.
    fn passed_runs(&self) -> u64 {
        match self.expected {
            Expectation::Violated { .. } => self.tally().held,
            Expectation::Held | Expectation::Any { .. } => 0,
        }
    }

    /// Returns the number of runs that did not decide the property, or 0 if the expectation accepts undecided runs.
    fn undecided_runs(&self) -> u64 {
        let tally = self.tally();
        let judged = tally.held + tally.violated + tally.not_applicable;
        match self.expected {
            Expectation::Any { .. } => 0,
            Expectation::Held | Expectation::Violated { .. } => {
                self.cell.runs.saturating_sub(judged)
            }
        }
    }

    /// Returns the finding about unexpected violations, or `None` if there are none.
    fn violated(&self) -> Option<Finding> {
        // The expected cause, if a violation is expected.
        let wanted = match self.expected {
            Expectation::Held => None,
            Expectation::Violated { cause } => Some(*cause),
            Expectation::Any { .. } => return None,
        };
        let tally = self.tally();
        let is_wanted = |cause: Cause| match wanted {
            None => false,
            Some(None) => true,
            Some(Some(wanted)) => cause == wanted,
        };
        let others = tally.causes.iter().filter(|(cause, _)| !is_wanted(**cause));
        let (causes, runs): (Vec<Cause>, Vec<u64>) =
            others.map(|(cause, runs)| (*cause, *runs)).unzip();
        if causes.is_empty() {
            return None;
        }
        let got = format!("violated: {}", names(&causes).join(" or "));
        let mut finding = self.finding(Kind::Verdict, &got, runs.iter().sum());
        finding.properties = vec![self.property];
        finding.rank = match wanted {
            None => describe(self.property).severity,
            // A violation was expected, but with another cause.
            Some(_) => u8::MAX,
        };
        let shown = self.shown();
        let shown =
            shown.filter(|verdict| verdict.cause.is_some_and(|cause| causes.contains(&cause)));
        Some(finding.shown_by(self.cell, shown))
    }

    fn finding(&self, kind: Kind, got: &str, runs: u64) -> Finding {
        let often = how_often(runs, self.cell.runs);
        let problem = format!("{} {got}{often}, expected {}", self.property, self.expected);
        Finding::new(kind, &CellKey::new(self.cell), problem)
    }

    fn shown(&self) -> Option<&'a Verdict> {
        self.cell.verdicts.get(&self.property)
    }
}

fn names(causes: &[Cause]) -> Vec<&'static str> {
    causes.iter().map(|cause| cause.as_str()).collect()
}

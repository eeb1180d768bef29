//! Compares verdicts with expectations over all runs of a cell.

use std::collections::BTreeMap;

use picklock_verdicts::check::{Cause, Property, Status, Verdict, describe};
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
    let judged = expected.iter().map(|(property, expected)| Judged {
        cell,
        property: *property,
        expected,
    });
    judged.flat_map(|one| one.findings()).collect()
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

impl Judged<'_> {
    fn findings(&self) -> Vec<Finding> {
        let tally = self.cell.tally.get(&self.property);
        let tally = &tally.cloned().unwrap_or_default();
        let mut found = Vec::new();
        match self.expected {
            Expectation::Held => found.extend(self.violated(tally, None)),
            Expectation::Violated { cause } => {
                found.extend(self.violated(tally, Some(*cause)));
                found.extend(self.unexpected_pass(tally.held));
            }
            Expectation::Any { .. } => return found,
        }
        let judged = tally.held + tally.violated + tally.not_applicable;
        if judged < self.cell.runs {
            found.push(self.inconclusive(self.cell.runs - judged));
        }
        found
    }

    /// Unexpected violations: `wanted` is `None` if no violation is expected, else the expected
    /// cause.
    fn violated(&self, tally: &Tally, wanted: Option<Option<Cause>>) -> Option<Finding> {
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

    /// An expected violation that did not occur.
    fn unexpected_pass(&self, held: u64) -> Option<Finding> {
        if held == 0 {
            return None;
        }
        let mut finding = self.finding(Kind::UnexpectedPass, "held", held);
        finding.problem.push_str(": unexpected pass");
        finding.help = Some(
            "an expected violation no longer occurs: either the lock was fixed (then change the expectation), or the fault no longer has its effect"
                .into(),
        );
        if self.shown().is_some_and(|it| it.status == Status::Held) {
            finding.reproduce = Some(self.cell.reproduce.clone());
        }
        Some(finding)
    }

    fn inconclusive(&self, runs: u64) -> Finding {
        let shown = self.shown().filter(|one| one.status == Status::Unknown);
        let finding = self.finding(Kind::Inconclusive, "unknown", runs);
        finding.shown_by(self.cell, shown)
    }

    fn finding(&self, kind: Kind, got: &str, runs: u64) -> Finding {
        let often = match self.cell.runs {
            1 => String::new(),
            all => format!(" in {runs} of {all} runs"),
        };
        let problem = format!("{} {got}{often}, expected {}", self.property, self.expected);
        Finding::new(kind, &CellKey::new(self.cell), problem)
    }

    fn shown(&self) -> Option<&Verdict> {
        self.cell.verdicts.get(&self.property)
    }
}

fn names(causes: &[Cause]) -> Vec<&'static str> {
    causes.iter().map(|cause| cause.as_str()).collect()
}

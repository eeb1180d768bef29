//! The decision: a function of rules, baseline and runs, and of nothing else.

use std::collections::BTreeSet;

use picklock_verdicts::record::Cell;

use super::baseline::{Baseline, BaselineCell};
use super::cell_key::CellKey;
use super::finding::{Finding, Kind, UPDATE};
use super::limit_check::{LimitCheck, LimitResult, Measured};
use super::paired::Ran;
use super::rules::Rules;
use super::verdicts::against_expectations;

/// Whether the gate opens, and what stands against it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What is wrong, the worst first.
    pub findings: Vec<Finding>,
    /// How many cells were held against something.
    pub cells: usize,
    /// How many runs they are.
    pub runs: u64,
    /// How many expectations were held against verdicts.
    pub expectations: usize,
    /// The limits that were held against what was measured.
    pub limits: Vec<Measured>,
}

/// What a decision comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything is as expected.
    AsExpected,
    /// Something differs.
    Differs,
    /// Nothing that was judged differs, but something could not be run.
    NotRun,
    /// Nothing that was judged differs, but something could not be judged.
    Inconclusive,
}

impl Outcome {
    /// The word that documents use.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::AsExpected => "as-expected",
            Outcome::Differs => "differs",
            Outcome::NotRun => "not-run",
            Outcome::Inconclusive => "inconclusive",
        }
    }
}

impl Decision {
    /// What it comes to: the worst finding decides.
    pub fn outcome(&self) -> Outcome {
        let kinds: BTreeSet<Kind> = self.findings.iter().map(|one| one.kind).collect();
        match kinds.first() {
            None => Outcome::AsExpected,
            Some(Kind::NotRun) => Outcome::NotRun,
            Some(Kind::NotJudged) => Outcome::Inconclusive,
            Some(_) => Outcome::Differs,
        }
    }
}

/// Holds what came out against what is to come out.
pub fn decide(rules: &Rules, baseline: Option<&Baseline>, ran: &Ran) -> Decision {
    let mut decision = Decision {
        findings: Vec::new(),
        cells: ran.matrix.cells.len(),
        runs: ran.matrix.cells.iter().map(|cell| cell.runs).sum(),
        expectations: 0,
        limits: Vec::new(),
    };
    if ran.matrix.cells.is_empty() {
        let nothing = "nothing was run: a gate that looks at nothing stays shut";
        decision
            .findings
            .push(Finding::general(Kind::EmptyRun, nothing));
    }
    if baseline.is_none() && rules.cells.iter().any(|key| rules.needs_baseline(key)) {
        let problem = "limits speak of the baseline, and there is none";
        let finding = Finding::general(Kind::NoBaseline, problem);
        decision.findings.push(finding.help(UPDATE));
    }
    decision.findings.extend(missing(rules, baseline, ran));
    for cell in &ran.matrix.cells {
        one_cell(rules, baseline, ran, cell, &mut decision);
    }
    let place = |finding: &Finding| {
        let key = finding.cell.as_ref();
        rules.cells.iter().position(|cell| Some(cell) == key)
    };
    decision
        .findings
        .sort_by_cached_key(|one| (one.kind, one.severity, place(one), one.problem.clone()));
    decision
}

/// Cells that were to be there and are not, on either side.
fn missing(rules: &Rules, baseline: Option<&Baseline>, ran: &Ran) -> Vec<Finding> {
    let there: BTreeSet<CellKey> = ran.matrix.cells.iter().map(CellKey::of).collect();
    let mut found = Vec::new();
    for key in rules.cells.iter().filter(|key| !there.contains(*key)) {
        let problem = "it was asked for, and is not in the run";
        found.push(Finding::of(Kind::MissingCell, key, problem));
    }
    let Some(baseline) = baseline else {
        return found;
    };
    let known = |key: &CellKey| there.contains(key) || rules.cells.contains(key);
    for before in baseline.cells.iter().filter(|before| !known(&before.key)) {
        let skipped = ran.matrix.skipped.iter().find(|one| {
            one.subject == before.key.subject
                && one.scenario == before.key.scenario
                && one.backend == before.key.backend
        });
        let why = skipped
            .map(|one| format!(": {}", one.reason))
            .unwrap_or_default();
        let problem = format!("the baseline has it, and the run does not{why}");
        found.push(Finding::of(Kind::MissingCell, &before.key, problem).help(
            "name it in the configuration again; if it is to go for good, run `picklock gate --update-baseline`",
        ));
    }
    for key in there.iter().filter(|key| baseline.find(key).is_none()) {
        let problem = "the run has it, and the baseline does not";
        found.push(Finding::of(Kind::MissingCell, key, problem).help(UPDATE));
    }
    found
}

fn one_cell(
    rules: &Rules,
    baseline: Option<&Baseline>,
    ran: &Ran,
    cell: &Cell,
    decision: &mut Decision,
) {
    let key = CellKey::of(cell);
    if let Some(error) = &cell.error {
        let mut finding = Finding::of(Kind::NotRun, &key, error.clone());
        finding.reproduce = Some(cell.reproduce.clone());
        decision.findings.push(finding);
        return;
    }
    let expected = rules.expected(cell);
    let limits = rules.limits(&key);
    if expected.is_empty() && limits.is_empty() {
        let problem = "nothing is expected of it, and no limit speaks of it";
        decision
            .findings
            .push(Finding::of(Kind::NotJudged, &key, problem).help(
            "say in an [[expect]] of the configuration what must come out, or leave the cell out",
        ));
    }
    decision.expectations += expected.len();
    decision.findings.extend(against_expectations(rules, cell));
    let before = baseline.and_then(|baseline| baseline.find(&key));
    let stale = before.and_then(|before| staleness(before, cell));
    let held = LimitCheck {
        rules,
        baseline,
        ran,
        cell,
        key: &key,
        is_baseline_good: before.is_some() && stale.is_none(),
    };
    if let Some(problem) = stale {
        decision
            .findings
            .push(Finding::of(Kind::StaleBaseline, &key, problem).help(UPDATE));
    }
    for limit in limits {
        match held.check(limit) {
            LimitResult::Measured(measured, finding) => {
                decision.limits.push(*measured);
                decision.findings.extend(finding);
            }
            LimitResult::Unchecked(finding) => decision.findings.push(finding),
            LimitResult::NoBaseline => {}
        }
    }
}

/// Why the baseline does not stand for a cell.
fn staleness(before: &BaselineCell, cell: &Cell) -> Option<String> {
    if before.scenario_hash != cell.scenario_hash {
        return Some("the baseline is about another version of this scenario".to_owned());
    }
    let runs = before.exact.as_ref().map(|exact| exact.runs)?;
    (runs != cell.runs).then(|| {
        format!(
            "the baseline is of {runs} runs, and these are {}",
            cell.runs
        )
    })
}

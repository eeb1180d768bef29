//! Decides whether the gate passes: a pure function of rules, baseline and runs.

use std::collections::BTreeSet;

use picklock_verdicts::record::Cell;
use serde::Serialize;

use super::accepted::{accepted, apply_accepted};
use super::baseline::{Baseline, BaselineCell};
use super::cell_key::CellKey;
use super::finding::{EXPECT, Finding, Kind, UPDATE, join_cells, join_stories};
use super::limit_check::{LimitCheck, Measurement};
use super::paired::GateRuns;
use super::rules::Rules;
use super::verdicts::{against_expectations, violations_without_expectation};
use crate::escape::visible_json;
use crate::matrix::{CellOutcome, Severity, lock_warnings};

/// The decision whether the gate passes, with the reasons.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Decision {
    /// The number of cells that were compared.
    pub cells: usize,
    /// The number of cells that are not applicable, because the lock or the backend does not offer what the
    /// scenario requires.
    pub not_applicable: usize,
    /// The number of runs of the compared cells.
    pub runs: u64,
    /// The number of expectations that were compared with verdicts.
    pub expectations: usize,
    /// The number of configured cells that an interrupt kept from running.
    #[serde(skip_serializing_if = "is_default")]
    pub unfinished: usize,
    /// The findings, worst first.
    pub findings: Vec<Finding>,
    /// Known violations that were accepted, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    /// The warnings of each lock. They are no findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The limits that were compared with measurements.
    pub limits: Vec<Measurement>,
}

impl Decision {
    /// Returns the severity of the worst finding.
    pub fn severity(&self) -> Severity {
        let severities = self.findings.iter().map(|one| one.kind.severity());
        severities.min().unwrap_or(Severity::AsExpected)
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Compares the results with the rules and the baseline. If the user interrupted the runs, the cells that did not run
/// are counted, but do not count as findings.
pub fn decide(rules: &Rules, baseline: Option<&Baseline>, runs: &GateRuns) -> Decision {
    let is_applicable = |cell: &&Cell| CellOutcome::from_cell(cell) != CellOutcome::NotApplicable;
    let cells = || runs.matrix.cells.iter().filter(is_applicable);
    let compared = cells().count();
    let mut decision = Decision {
        cells: compared,
        not_applicable: runs.matrix.cells.len() - compared + runs.matrix.skipped.len(),
        warnings: lock_warnings(&runs.matrix.cells),
        runs: cells().fold(0, |runs, cell| runs.saturating_add(cell.runs)),
        ..Decision::default()
    };
    if runs.matrix.interrupted {
        let there: BTreeSet<CellKey> = runs.matrix.cells.iter().map(CellKey::new).collect();
        let wanted = rules.cells.iter().map(|(key, _)| key);
        decision.unfinished = wanted.filter(|key| !there.contains(*key)).count();
    }
    if compared == 0 && !runs.matrix.interrupted {
        let nothing = "no cell was run: a gate that checks nothing fails";
        let mut finding = Finding::general(Kind::EmptyRun, nothing);
        let omitted = runs.matrix.skipped.iter().take(5).map(|one| {
            let (lock, scenario, backend) = (&one.lock, &one.scenario, one.backend);
            format!("{lock} × {scenario} × {backend}: {}", one.reason)
        });
        finding.story = omitted.collect();
        decision.findings.push(finding);
    }
    if baseline.is_none() && rules.need_baseline() {
        let problem = "limits refer to the baseline, but there is no baseline";
        let finding = Finding::general(Kind::NoBaseline, problem);
        decision.findings.push(finding.help(UPDATE));
    }
    if !runs.matrix.interrupted {
        decision.findings.extend(missing(rules, baseline, runs));
    }
    for cell in cells() {
        one_cell(rules, baseline, runs, cell, &mut decision);
    }
    let place = |finding: &Finding| {
        let key = finding.cell.as_ref();
        key.and_then(|key| rules.position(key))
    };
    let order = |one: &Finding| (one.kind, one.rank, place(one), one.problem.clone());
    decision.findings.sort_by_cached_key(order);
    decision.findings = join_cells(std::mem::take(&mut decision.findings));
    decision
}

/// Returns findings for cells that are missing from the run or from the baseline.
fn missing(rules: &Rules, baseline: Option<&Baseline>, runs: &GateRuns) -> Vec<Finding> {
    let there: BTreeSet<CellKey> = runs.matrix.cells.iter().map(CellKey::new).collect();
    let mut found = Vec::new();
    let wanted = rules.cells.iter().map(|(key, _)| key);
    for key in wanted.filter(|key| !there.contains(*key)) {
        let problem = "the cell is configured, but not in the run";
        found.push(Finding::new(Kind::MissingCell, key, problem));
    }
    let Some(baseline) = baseline else {
        return found;
    };
    let known = |key: &CellKey| there.contains(key) || rules.position(key).is_some();
    for before in baseline.cells.iter().filter(|before| !known(&before.key)) {
        let skipped = runs.matrix.skipped.iter().find(|one| {
            one.lock == before.key.lock
                && one.scenario == before.key.scenario
                && one.backend == before.key.backend
        });
        let why = skipped.map_or_else(String::new, |one| format!(": {}", one.reason));
        let problem = format!("the cell is in the baseline, but not in the run{why}");
        found.push(Finding::new(Kind::MissingCell, &before.key, problem).help(
            "restore it in the configuration; to remove it for good, run `picklock gate --update-baseline`",
        ));
    }
    for key in there.iter().filter(|key| baseline.find(key).is_none()) {
        let problem = "the cell is in the run, but not in the baseline";
        found.push(Finding::new(Kind::MissingCell, key, problem).help(UPDATE));
    }
    found
}

/// Adds the findings about one cell: its verdicts, a run that failed, and, if no run failed, its limits.
fn one_cell(
    rules: &Rules,
    baseline: Option<&Baseline>,
    runs: &GateRuns,
    cell: &Cell,
    decision: &mut Decision,
) {
    let key = CellKey::new(cell);
    let rules_of_cell = rules.for_cell(&key);
    let mut expected = cell.expected.clone();
    expected.extend(rules_of_cell.expects.clone());
    let accepts = &rules_of_cell.accepts;
    decision.accepted.extend(accepted(cell, accepts));
    let mut findings = if !expected.is_empty() {
        against_expectations(cell, &expected)
    } else if cell.error.is_some() {
        // No limit is checked if a run failed.
        violations_without_expectation(cell, &[])
    } else {
        violations_without_expectation(cell, &rules_of_cell.limits)
    };
    apply_accepted(cell, accepts, &mut findings);
    let mut findings = join_stories(cell, findings);
    if let Some(error) = &cell.error {
        // The runs of the cell that did complete still prove their violations. A property that held in them proves
        // nothing.
        findings.retain(|one| one.kind == Kind::Verdict);
        findings.push(Finding {
            reproduce: Some(cell.reproduce.clone()),
            ..Finding::new(Kind::NotRun, &key, error.clone())
        });
        decision.findings.extend(findings);
        return;
    }
    if expected.is_empty() && findings.is_empty() && rules_of_cell.limits.is_empty() {
        let problem = "the cell has no expectation and no limit";
        findings.push(Finding::new(Kind::Inconclusive, &key, problem).help(EXPECT));
    }
    decision.expectations += expected.len();
    decision.findings.extend(findings);
    let before = baseline.and_then(|baseline| baseline.find(&key));
    let stale = before.and_then(|before| staleness(before, cell));
    let check = LimitCheck {
        control: rules.control.as_deref(),
        before: before.filter(|_| stale.is_none()),
        runs,
        cell,
        key: &key,
    };
    if let Some(problem) = stale {
        let finding = Finding::new(Kind::StaleBaseline, &key, problem);
        decision.findings.push(finding.help(UPDATE));
    }
    for limit in &rules_of_cell.limits {
        match check.check(limit) {
            Ok(measured) => {
                decision.findings.extend(check.broken(&measured));
                decision.limits.push(measured);
            }
            Err(None) => {}
            Err(Some((kind, why))) => {
                let mut finding = Finding::new(kind, &key, format!("{limit}: {why}"));
                if kind == Kind::StaleBaseline {
                    finding = finding.help(UPDATE);
                }
                decision.findings.push(finding);
            }
        }
    }
}

/// Returns the reason why the baseline of a cell is stale, or `None` if it is current.
fn staleness(before: &BaselineCell, cell: &Cell) -> Option<String> {
    if before.scenario_hash != cell.scenario_hash {
        return Some("the scenario has changed since the baseline was written".to_owned());
    }
    if let (Some(then), Some(now)) = (&before.redis, &cell.redis)
        && !then.is_like(now)
    {
        let why = format!("the baseline was written on {then}, and this run is on {now}");
        return Some(why);
    }
    let (then, now) = (before.exact.as_ref()?.runs, cell.runs);
    (then != now).then(|| format!("the baseline has {then} runs, and this run has {now}"))
}

/// Format and version of the JSON document of a decision.
pub const GATE_FORMAT: &str = "picklock-gate/1";

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    picklock: &'static str,
    outcome: Severity,
    #[serde(flatten)]
    decision: &'a Decision,
}

/// Formats the decision as one indented JSON document without a newline at the end.
pub fn gate_json(decision: &Decision) -> String {
    let document = Document {
        format: GATE_FORMAT,
        picklock: env!("CARGO_PKG_VERSION"),
        outcome: decision.severity(),
        decision,
    };
    let document = serde_json::to_string_pretty(&document);
    visible_json(document.expect("a decision holds only text, numbers, and maps keyed by words"))
}

//! Formats the decision as text for a terminal.

use std::collections::BTreeSet;

use super::decide::Decision;
use super::finding::{Finding, Kind};
use super::limit_check::Measurement;
use crate::inert;
use crate::inert::Inert;
use crate::matrix::{NOT_APPLICABLE, Severity};
use crate::terminal::wrapped;
use crate::units::count;

/// Maximum number of findings to list. The worst come first; the rest is counted.
const MAX_FINDINGS: usize = 30;

/// Formats the decision as text of at most `width` columns. A command is never broken, so that it can be copied.
pub fn terminal(decision: &Decision, width: usize) -> Inert {
    let mut text = Inert::default();
    let add = |text: &mut Inert, line: &Inert| text.push(&wrapped(line, width, 2));
    let mut given = BTreeSet::new();
    for finding in decision.findings.iter().take(MAX_FINDINGS) {
        let is_new = finding.help.as_ref().is_none_or(|help| given.insert(help));
        add_finding(finding, is_new, width, &mut text);
    }
    let more = decision.findings.len().saturating_sub(MAX_FINDINGS);
    if more > 0 {
        text.push(&inert!("… and {} more; --json has them all\n\n", more));
    }
    for known in &decision.accepted {
        add(&mut text, &inert!("~ {}", known));
    }
    // If there are findings, show only the limits that took many runs to check.
    let passes = decision.severity() == Severity::AsExpected;
    let is_shown = |one: &&Measurement| one.kept && (passes || one.interval.is_some());
    let kept: Vec<_> = decision.limits.iter().filter(is_shown).collect();
    for one in kept.iter().take(MAX_FINDINGS) {
        let before = one.before.as_ref().map(|it| format!(" (before {it})"));
        let words = match one.interval {
            Some(_) => one.words.clone(),
            None => format!("{}: {}{}", one.limit, one.now, before.unwrap_or_default()),
        };
        add(&mut text, &inert!("✔ {}: {}", one.cell, words));
    }
    let more = kept.len().saturating_sub(MAX_FINDINGS);
    if more > 0 {
        text.push(&inert!("✔ … and {} more met\n", count(more, "limit")));
    }
    for warning in &decision.warnings {
        add(&mut text, &inert!("! {}", warning));
    }
    add(&mut text, &inert!("{}", headline(decision)));
    text
}

/// Returns one line that states whether the gate passes.
fn headline(decision: &Decision) -> String {
    let (verdict, counts) = (verdict(decision), counts(decision));
    if nothing_ran(decision) {
        return format!("✘ gate failed: none of {counts} could be run");
    }
    match decision.severity() {
        Severity::AsExpected if decision.unfinished > 0 => {
            format!("? gate undecided: {counts}; {verdict}")
        }
        Severity::AsExpected => format!("✔ gate passed: {counts}; {verdict}"),
        Severity::Failed | Severity::NotRun => format!("✘ gate failed: {verdict} in {counts}"),
        Severity::Inconclusive => format!("? gate failed: {verdict} in {counts}"),
    }
}

/// Returns `true` if every cell failed to run.
fn nothing_ran(decision: &Decision) -> bool {
    let failed = decision
        .findings
        .iter()
        .filter(|one| one.kind == Kind::NotRun);
    decision.cells > 1 && failed.map(Finding::cells).sum::<usize>() == decision.cells
}

/// Returns the number of findings of each kind, or states that there are none.
pub(super) fn verdict(decision: &Decision) -> String {
    let is_cell = |one: &&Finding| matches!(one.kind, Kind::NotRun | Kind::Inconclusive);
    let cells = |kind| {
        let findings = decision.findings.iter().filter(|one| one.kind == kind);
        findings.map(Finding::cells).sum::<usize>()
    };
    let (failed, unknown) = (cells(Kind::NotRun), cells(Kind::Inconclusive));
    let wrong = decision.findings.len() - decision.findings.iter().filter(is_cell).count();
    let parts = [
        (wrong, count(wrong, "finding")),
        (failed, format!("{} failed to run", count(failed, "cell"))),
        (unknown, format!("{} inconclusive", count(unknown, "cell"))),
    ];
    let parts: Vec<String> = (parts.into_iter())
        .filter(|(number, _)| *number > 0)
        .map(|(_, words)| words)
        .collect();
    if parts.is_empty() {
        "all as expected".to_owned()
    } else {
        parts.join(", ")
    }
}

/// Returns what was compared, in numbers.
pub(super) fn counts(decision: &Decision) -> String {
    if nothing_ran(decision) {
        return count(decision.cells, "cell");
    }
    let mut parts = vec![
        count(decision.cells, "cell"),
        count(decision.runs, "run"),
        count(decision.expectations, "expectation"),
        count(decision.limits.len(), "limit"),
    ];
    if decision.limits.is_empty() {
        parts.pop();
    }
    if decision.not_applicable > 0 {
        parts.push(format!("{} {NOT_APPLICABLE}", decision.not_applicable));
    }
    if decision.unfinished > 0 {
        let cells = count(decision.unfinished, "cell");
        parts.push(format!("interrupted before {cells} had run"));
    }
    parts.join(", ")
}

/// Returns one line that names further reading about the findings, or an empty text if none has a run. `saved` is
/// `true` if the failed runs were saved.
pub fn hint(decision: &Decision, saved: bool) -> Inert {
    let has_run = |one: &Finding| one.kind != Kind::NotRun && one.reproduce.is_some();
    let has_run = decision.findings.iter().any(has_run);
    Inert::literal(match (has_run, saved) {
        (false, _) => "",
        (true, true) => {
            "more: a `reproduce` command draws the timeline; its page and log are below\n"
        }
        (true, false) => {
            "more: a `reproduce` command draws the timeline; --out DIR saves its page and log\n"
        }
    })
}

/// Adds a finding, with its help if `with_help` is set: the same help is not repeated for each finding.
fn add_finding(finding: &Finding, with_help: bool, width: usize, text: &mut Inert) {
    let sign = match finding.kind {
        Kind::Inconclusive => '?',
        _ => '✘',
    };
    text.push(&wrapped(&inert!("{} {}", sign, finding.title()), width, 2));
    let help = help(finding).filter(|_| with_help);
    for line in explanation(finding).into_iter().chain(help) {
        text.push(&wrapped(&inert!("  {}", line), width, 4));
    }
    if let Some(line) = command(finding) {
        text.push(&inert!("  {}\n", line));
    }
    text.push(&Inert::literal("\n"));
}

/// Returns the lines of a finding, which all formats share: the violation, whose fault it is, the cells, the
/// properties, the story, the remedy, and the command that repeats it.
pub(super) fn lines(finding: &Finding) -> Vec<String> {
    let mut lines = explanation(finding);
    lines.extend(help(finding));
    lines.extend(command(finding));
    lines
}

/// Returns the line with the help of a finding, if there is one.
fn help(finding: &Finding) -> Option<String> {
    let help = finding.help.as_ref()?;
    Some(format!("= help: {help}"))
}

/// Returns the line with the command that repeats a finding, if there is one.
fn command(finding: &Finding) -> Option<String> {
    let command = finding.reproduce.as_ref()?;
    Some(format!("reproduce: {command}"))
}

/// Returns the lines of a finding without the help and the command: what happened, whose fault it is, where, the story
/// and the remedy.
fn explanation(finding: &Finding) -> Vec<String> {
    let mut lines = Vec::new();
    let problems = finding.problem.lines();
    if let Some(proof) = &finding.proof {
        lines.push(format!("{}.", proof.headline));
        lines.push(proof.fault.clone());
        // A violated property is expected to be held unless the line states something else.
        let problems = problems.map(|line| line.strip_suffix(", expected held").unwrap_or(line));
        lines.push(problems.collect::<Vec<_>>().join("; "));
    } else {
        lines.extend(problems.map(str::to_owned));
    }
    let also: Vec<&str> = finding
        .also_in
        .iter()
        .map(|cell| cell.scenario.as_str())
        .collect();
    if !also.is_empty() {
        lines.push(format!("also in: {}", also.join(", ")));
    }
    lines.extend(finding.story.iter().map(|line| format!("  {line}")));
    if let Some(proof) = &finding.proof
        && let Some(remedy) = proof.remedy
    {
        let cause = proof.causes.iter().find(|cause| cause.remedy().is_some());
        let page = cause.map_or(String::new(), |cause| {
            format!(" (picklock explain {})", cause.as_str())
        });
        lines.push(format!("remedy: {remedy}{page}"));
    }
    lines
}

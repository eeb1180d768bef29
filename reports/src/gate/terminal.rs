//! Formats the decision as text for a terminal.

use super::decide::Decision;
use super::finding::Finding;
use super::limit_check::Measurement;
use crate::inert;
use crate::inert::Inert;
use crate::matrix::{NOT_APPLICABLE, Severity};
use crate::units::count;

/// Maximum number of findings to list. The worst come first; the rest is counted.
const MAX_FINDINGS: usize = 30;

/// Formats the decision as text.
pub fn terminal(decision: &Decision) -> Inert {
    let mut text = Inert::default();
    for finding in decision.findings.iter().take(MAX_FINDINGS) {
        add_finding(finding, &mut text);
    }
    let more = decision.findings.len().saturating_sub(MAX_FINDINGS);
    if more > 0 {
        text.push(&inert!("… and {} more; --json has them all\n\n", more));
    }
    for known in &decision.accepted {
        text.push(&inert!("~ {}\n", known));
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
        text.push(&inert!("✔ {}: {}\n", one.cell, words));
    }
    let more = kept.len().saturating_sub(MAX_FINDINGS);
    if more > 0 {
        text.push(&inert!("✔ … and {} more met\n", count(more, "limit")));
    }
    text.push(&inert!("{}\n", headline(decision)));
    text
}

/// Returns one line that states whether the gate passes.
pub(super) fn headline(decision: &Decision) -> String {
    let not_applicable = match decision.not_applicable {
        0 => String::new(),
        number => format!(", {number} {NOT_APPLICABLE}"),
    };
    let checked = format!(
        "{}, {}, {}, {}{not_applicable}",
        count(decision.cells, "cell"),
        count(decision.runs, "run"),
        count(decision.expectations, "expectation"),
        count(decision.limits.len(), "limit"),
    );
    let wrong = count(decision.findings.len(), "finding");
    let (sign, undone) = match decision.severity() {
        Severity::AsExpected => return format!("✔ gate passed: {checked}; all as expected"),
        Severity::Failed => ('✘', ""),
        Severity::NotRun => ('✘', ", a cell failed to run"),
        Severity::Inconclusive => ('?', ", a cell is inconclusive"),
    };
    format!("{sign} gate failed: {checked}; {wrong}{undone}")
}

fn add_finding(finding: &Finding, text: &mut Inert) {
    text.push(&inert!("✘ {}\n", finding.title()));
    for line in lines(finding) {
        text.push(&inert!("  {}\n", line));
    }
    text.push(&Inert::literal("\n"));
}

/// Returns the lines of a finding, which all formats share: what happened, whose fault it is, where, the properties, the
/// story, the remedy, and the command that repeats it.
pub(super) fn lines(finding: &Finding) -> Vec<String> {
    let mut lines = Vec::new();
    let problems: Vec<&str> = finding.problem.lines().collect();
    if let Some(proof) = &finding.proof {
        lines.push(format!("{}.", proof.headline));
        lines.push(proof.fault.clone());
        lines.push(problems.join("; "));
    } else {
        lines.extend(problems.into_iter().map(str::to_owned));
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
    if let Some(remedy) = finding.proof.as_ref().and_then(|proof| proof.remedy) {
        lines.push(format!("remedy: {remedy}"));
    }
    lines.extend(finding.help.iter().map(|help| format!("= help: {help}")));
    lines.extend(
        finding
            .reproduce
            .iter()
            .map(|command| format!("reproduce: {command}")),
    );
    lines
}

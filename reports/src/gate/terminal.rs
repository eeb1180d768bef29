//! The decision as text for a terminal.

use super::decide::{Decision, GateOutcome};
use super::finding::Finding;
use super::limit_check::Measurement;
use crate::escape::visible;
use crate::matrix::NOT_APPLICABLE;
use crate::units::count;

/// Further findings are only counted; the worst come first.
const MOST: usize = 30;

/// The decision as text.
pub fn terminal(decision: &Decision) -> String {
    let mut text = String::new();
    for finding in decision.findings.iter().take(MOST) {
        told(finding, &mut text);
    }
    let more = decision.findings.len().saturating_sub(MOST);
    if more > 0 {
        text.push_str(&format!("… and {more} more; --json has them all\n\n"));
    }
    // Beside findings, only what took long to find out.
    let passes = decision.outcome() == GateOutcome::AsExpected;
    let is_shown = |one: &&Measurement| one.kept && (passes || one.interval.is_some());
    let kept: Vec<_> = decision.limits.iter().filter(is_shown).collect();
    for one in kept.iter().take(MOST) {
        let before = one.before.as_ref().map(|it| format!(" (before {it})"));
        let words = match one.interval {
            Some(_) => one.words.clone(),
            None => format!("{}: {}{}", one.limit, one.now, before.unwrap_or_default()),
        };
        text.push_str(&format!("✔ {}: {}\n", one.cell, visible(&words)));
    }
    let more = kept.len().saturating_sub(MOST);
    if more > 0 {
        text.push_str(&format!("✔ … and {} more kept\n", count(more, "limit")));
    }
    text + &headline(decision) + "\n"
}

/// One line: whether the gate passes.
pub(super) fn headline(decision: &Decision) -> String {
    let not_applicable = match decision.not_applicable {
        0 => String::new(),
        number => format!(", {number} {NOT_APPLICABLE}"),
    };
    let looked = format!(
        "{}, {}, {}, {}{not_applicable}",
        count(decision.cells, "cell"),
        count(decision.runs, "run"),
        count(decision.expectations, "expectation"),
        count(decision.limits.len(), "limit"),
    );
    let wrong = count(decision.findings.len(), "finding");
    let (sign, undone) = match decision.outcome() {
        GateOutcome::AsExpected => return format!("✔ gate passed: {looked}; all as expected"),
        GateOutcome::Differs => ('✘', ""),
        GateOutcome::NotRun => ('✘', ", something could not be run"),
        GateOutcome::Inconclusive => ('?', ", something could not be judged"),
    };
    format!("{sign} gate failed: {looked}; {wrong}{undone}")
}

fn told(finding: &Finding, text: &mut String) {
    text.push_str(&format!("✘ {}\n", finding.title()));
    for line in finding.problem.lines() {
        text.push_str(&format!("  {}\n", visible(line)));
    }
    for line in &finding.story {
        text.push_str(&format!("    {}\n", visible(line)));
    }
    if let Some(help) = &finding.help {
        text.push_str(&format!("  = help: {}\n", visible(help)));
    }
    if let Some(reproduce) = &finding.reproduce {
        text.push_str(&format!("  see it again: {}\n", visible(reproduce)));
    }
    text.push('\n');
}

//! Formats the decision as Markdown for a job summary.

use super::decide::Decision;
use super::finding::Finding;
use super::terminal::{headline, lines};
use crate::escape::visible;
use crate::markdown::quoted::{code, prose};
use crate::units::count;

/// Maximum number of findings to list, because the size of a job summary is limited. The rest is counted.
const MAX_FINDINGS: usize = 50;

/// Formats the decision as Markdown.
pub fn markdown(decision: &Decision) -> String {
    let mut text = format!("### Picklock\n\n{}\n\n", headline(decision));
    let shown = &decision.findings[..decision.findings.len().min(MAX_FINDINGS)];
    if !shown.is_empty() {
        text.push_str("| | cell | problem |\n|---|---|---|\n");
    }
    for finding in shown {
        let cell = finding.cell.as_ref().map(|cell| code(&cell.to_string()));
        let mut problem: Vec<String> = finding.problem.lines().map(prose).collect();
        let mut kind = finding.kind.title();
        if let Some(proof) = &finding.proof {
            kind = proof.party;
            problem.insert(0, format!("{}.", prose(&proof.headline)));
            problem.extend(
                proof
                    .remedy
                    .map(|remedy| format!("Remedy: {}.", prose(remedy))),
            );
        }
        let more = match finding.also_in.len() {
            0 => String::new(),
            more => format!(" and {}", count(more, "more cell")),
        };
        let cell = cell.unwrap_or_default() + &more;
        let problem = problem.join("<br>");
        text.push_str(&format!("| **{kind}** | {cell} | {problem} |\n"));
    }
    let more = decision.findings.len() - shown.len();
    if more > 0 {
        text.push_str(&format!("\n… and {more} more.\n"));
    }
    let has_details = |one: &&Finding| !one.story.is_empty() || one.reproduce.is_some();
    for finding in shown.iter().filter(has_details) {
        details(finding, &mut text);
    }
    for known in &decision.accepted {
        text.push_str(&format!("\n- {}\n", prose(known)));
    }
    text.push_str(&limits(decision));
    text
}

/// Formats the limits before and now, broken limits first.
fn limits(decision: &Decision) -> String {
    let mut limits: Vec<_> = decision.limits.iter().collect();
    if limits.is_empty() {
        return String::new();
    }
    limits.sort_by_key(|one| one.kept);
    let mut text = "\n| | cell | limit | before | now |\n|---|---|---|---|---|\n".to_owned();
    for one in limits.iter().take(MAX_FINDINGS) {
        let mark = if one.kept { "✔" } else { "✘" };
        let [cell, limit] = [&one.cell.to_string(), &one.limit].map(|it| code(it));
        let before = one.before.as_deref().map_or("–".to_owned(), prose);
        let now = prose(&one.now);
        text.push_str(&format!(
            "| {mark} | {cell} | {limit} | {before} | {now} |\n"
        ));
    }
    let more = limits.len().saturating_sub(MAX_FINDINGS);
    if more > 0 {
        text.push_str(&format!("\n… and {more} more limits.\n"));
    }
    text
}

fn details(finding: &Finding, text: &mut String) {
    // Four blanks make a code block that untrusted text cannot close.
    let lines = lines(finding).into_iter();
    let block: Vec<String> = lines
        .map(|line| format!("    {}", visible(&line)))
        .collect();
    let (title, block) = (code(&finding.title()), block.join("\n"));
    text.push_str(&format!(
        "\n<details><summary>{title}</summary>\n\n{block}\n\n</details>\n"
    ));
}

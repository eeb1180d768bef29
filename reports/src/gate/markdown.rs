//! The decision as Markdown for a job summary.

use super::decide::Decision;
use super::finding::Finding;
use super::terminal::headline;
use crate::escape::visible;
use crate::markdown::quoted::{code, prose};

/// Further findings are only counted, because the size of a job summary is limited.
const MOST: usize = 50;

/// The decision as Markdown.
pub fn markdown(decision: &Decision) -> String {
    let mut text = format!("### Picklock\n\n{}\n\n", headline(decision));
    let told = &decision.findings[..decision.findings.len().min(MOST)];
    if !told.is_empty() {
        text.push_str("| | cell | what is wrong |\n|---|---|---|\n");
    }
    for finding in told {
        let cell = finding.cell.as_ref().map(|cell| code(&cell.to_string()));
        let problem: Vec<String> = finding.problem.lines().map(prose).collect();
        text.push_str(&format!(
            "| **{}** | {} | {} |\n",
            finding.kind.title(),
            cell.unwrap_or_default(),
            problem.join("<br>")
        ));
    }
    let more = decision.findings.len() - told.len();
    if more > 0 {
        text.push_str(&format!("\n… and {more} more.\n"));
    }
    for finding in told
        .iter()
        .filter(|one| !one.story.is_empty() || one.reproduce.is_some())
    {
        details(finding, &mut text);
    }
    text.push_str(&limits(decision));
    text
}

/// The limits before and now, those that are broken first.
fn limits(decision: &Decision) -> String {
    let mut limits: Vec<_> = decision.limits.iter().collect();
    if limits.is_empty() {
        return String::new();
    }
    limits.sort_by_key(|one| one.kept);
    let title = "\n| | cell | limit | before | now |\n|---|---|---|---|---|\n";
    let mut text = title.to_owned();
    for one in limits.iter().take(MOST) {
        let mark = if one.kept { "✔" } else { "✘" };
        text.push_str(&format!(
            "| {mark} | {} | {} | {} | {} |\n",
            code(&one.cell.to_string()),
            code(&one.limit),
            one.before.as_deref().map_or("–".to_owned(), prose),
            prose(&one.now)
        ));
    }
    let more = limits.len().saturating_sub(MOST);
    if more > 0 {
        text.push_str(&format!("\n… and {more} more limits.\n"));
    }
    text
}

fn details(finding: &Finding, text: &mut String) {
    let lines = finding.story.iter().chain(&finding.reproduce);
    // Four blanks make a code block that untrusted text cannot close.
    let block: Vec<String> = lines.map(|line| format!("    {}", visible(line))).collect();
    text.push_str(&format!(
        "\n<details><summary>{}</summary>\n\n{}\n\n</details>\n",
        code(&finding.title()),
        block.join("\n")
    ));
}

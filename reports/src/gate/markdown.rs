//! The decision as Markdown for a job summary.

use super::decide::Decision;
use super::finding::Finding;
use super::terminal::headline;
use crate::escape::visible;

/// Further findings are only counted, because the size of a job summary is limited.
const MOST: usize = 50;

/// The decision as Markdown.
pub fn markdown(decision: &Decision) -> String {
    let mut text = format!("### Picklock\n\n{}\n\n", inert(&headline(decision)));
    let told = &decision.findings[..decision.findings.len().min(MOST)];
    if !told.is_empty() {
        text.push_str("| | cell | what is wrong |\n|---|---|---|\n");
    }
    for finding in told {
        let cell = finding
            .cell
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        text.push_str(&format!(
            "| **{}** | {} | {} |\n",
            finding.kind.title(),
            inert(&cell),
            inert(&finding.problem)
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
            inert(&one.cell.to_string()),
            inert(&one.limit),
            inert(one.before.as_deref().unwrap_or("–")),
            inert(&one.now)
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
        inert(&finding.title()),
        block.join("\n")
    ));
}

/// Text without any markup.
fn inert(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' => out.push_str("<br>"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' | '~' | '!' | '@' => {
                out.push_str(&format!("&#{};", u32::from(c)));
            }
            _ => out.push_str(&visible(c.encode_utf8(&mut [0; 4]))),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::inert;

    #[test]
    fn nothing_of_a_stranger_is_markup() {
        let shown = inert("a|b <script> `x` [l](u) @all\nnext \x1b[31m");
        assert_eq!(
            shown,
            "a&#124;b &lt;script&gt; &#96;x&#96; &#91;l&#93;(u) &#64;all<br>next \\u{1b}&#91;31m"
        );
    }
}

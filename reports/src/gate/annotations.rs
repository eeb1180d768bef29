//! Formats the decision as annotations of GitHub Actions: `::error title=...::...`.

use super::decide::Decision;
use super::finding::Finding;
use super::terminal::lines;
use crate::escape::visible_lines;
use crate::inert::Inert;

/// Maximum number of errors per step: GitHub silently drops further ones.
const MAX_ERRORS: usize = 10;

/// Returns a line for each finding, worst first.
pub fn annotations(decision: &Decision) -> Inert {
    let all = decision.findings.len();
    // The last line counts the findings that are dropped.
    let shown = if all > MAX_ERRORS {
        MAX_ERRORS - 1
    } else {
        all
    };
    let mut text: String = decision.findings[..shown].iter().map(line).collect();
    if shown < all {
        let more = format!("{} more findings; the log has them", all - shown);
        text.push_str(&format!("::error title=picklock gate::{more}\n"));
    }
    Inert::annotations(&text)
}

fn line(finding: &Finding) -> String {
    let title = format!("picklock gate: {}", finding.title());
    let message = data(&visible_lines(&lines(finding).join("\n")));
    format!("::error title={}::{message}\n", property(&title))
}

/// Escapes a message for the runner.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes a property of the command. Colons and commas are escaped too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runner_syntax_is_escaped() {
        assert_eq!(data("50 %\r\n::error::x"), "50 %25%0D%0A::error::x");
        assert_eq!(property("a: b, c%"), "a%3A b%2C c%25");
    }
}

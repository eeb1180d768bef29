//! Formats the result of a conformance run as text.

use picklock_harness::conformance::finding::{CheckResult, CheckStatus};
use picklock_reports::escape::shortened;
use picklock_reports::inert;
use picklock_reports::inert::Inert;

use crate::worker_stderr::MAX_LINE_LENGTH;

/// Formats one check as a line. A failure adds the line that shows it and the documentation to read.
pub fn check_line(result: &CheckResult) -> Inert {
    let mark = match result.status {
        CheckStatus::Passed => '✓',
        CheckStatus::Failed => '✗',
        CheckStatus::NotOffered => '–',
        CheckStatus::NotRun => '·',
    };
    let words = match (result.status, result.detail.as_str()) {
        (CheckStatus::Passed, "") => result.about.to_owned(),
        (CheckStatus::Passed, remark) => format!("{} ({remark})", result.about),
        (CheckStatus::NotOffered, reason) => format!("not offered: {reason}"),
        (CheckStatus::Failed | CheckStatus::NotRun, detail) => detail.to_owned(),
    };
    let words = shortened(&words, MAX_LINE_LENGTH);
    let mut text = inert!("{} {:<16}{}\n", mark, result.check, words);
    if result.status != CheckStatus::Failed {
        return text;
    }
    let mut add = |what: &str, words: &str| {
        let words = shortened(words, MAX_LINE_LENGTH);
        text.push(&inert!("{:18}{:<9}{}\n", "", what, words));
    };
    if let Some(line) = &result.line {
        add("it wrote", line);
    }
    for line in &result.log {
        add("its log", line);
    }
    add("see", &result.doc);
    text
}

/// Formats the last line: how many checks passed, failed or were skipped.
pub fn summary(results: &[CheckResult]) -> Inert {
    let count = |status| {
        let results = results.iter().filter(|result| result.status == status);
        results.count()
    };
    let mut parts = vec![
        format!("{} passed", count(CheckStatus::Passed)),
        format!("{} failed", count(CheckStatus::Failed)),
    ];
    for (status, words) in [
        (CheckStatus::NotOffered, "not offered"),
        (CheckStatus::NotRun, "not tried"),
    ] {
        if count(status) > 0 {
            parts.push(format!("{} {words}", count(status)));
        }
    }
    inert!("{} checks: {}.\n", results.len(), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(status: CheckStatus, detail: &str) -> CheckResult {
        CheckResult {
            check: "grant",
            about: "grants a free lock",
            status,
            detail: detail.into(),
            line: None,
            log: Vec::new(),
            doc: "picklock docs protocol#granted".into(),
        }
    }

    #[test]
    fn check_is_one_line_and_a_failed_one_names_its_section() {
        let failed = CheckResult {
            line: Some("{\"reply\":\"granted\"}\u{1b}[2J".into()),
            log: vec!["Traceback".into()],
            ..result(CheckStatus::Failed, "it wrote `granted` without `token`")
        };
        let results = [
            result(CheckStatus::Passed, ""),
            result(CheckStatus::Passed, "with a remark"),
            failed,
            result(CheckStatus::NotOffered, "no `fence`"),
            result(CheckStatus::NotRun, "not tried: it did not get ready"),
        ];
        let lines: Inert = results.iter().map(check_line).collect();
        insta::assert_snapshot!(inert!("{}{}", lines, summary(&results)).as_str(), @r#"
        ✓ grant           grants a free lock
        ✓ grant           grants a free lock (with a remark)
        ✗ grant           it wrote `granted` without `token`
                          it wrote {"reply":"granted"}\u{1b}[2J
                          its log  Traceback
                          see      picklock docs protocol#granted
        – grant           not offered: no `fence`
        · grant           not tried: it did not get ready
        5 checks: 2 passed, 1 failed, 1 not offered, 1 not tried.
        "#);
    }
}

//! JUnit XML, which CI servers show as test results.
//!
//! A suite is a lock with its options, and a case is a scenario in a backend. A case fails if a verdict is
//! unexpected. It is an error if a property with an expectation is inconclusive. A cell that failed to run or
//! is not applicable is skipped. Warnings are in `system-out`, which CI servers show for passing cases as
//! well. The output follows `junit-10.xsd` of Jenkins's xunit plugin.

use std::fmt::Write;
use std::time::Duration;

use picklock_scenarios::BackendName;
use picklock_verdicts::record::{Cell, Mismatch};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::cell_status::{failures, is_undecided};
use crate::escape::{quoted, visible_lines};
use crate::format::{File, Format, FormatError};
use crate::inert::Inert;
use crate::matrix::{CellOutcome, NOT_APPLICABLE, lock_with_options};
use crate::problem::problems;
use crate::report_input::ReportInput;

/// `--format junit`.
pub const FORMAT: Format = Format {
    name: "junit",
    ending: ".xml",
    about: "JUnit XML for CI servers: suite = lock, case = scenario and backend",
    write: files,
};

/// Returns `junit.xml`.
///
/// # Errors
/// Returns an error if the XML writer fails, which is not expected.
pub fn files(input: &ReportInput) -> Result<Vec<File>, FormatError> {
    let mut suites: Vec<(String, TestSuite)> = Vec::new();
    let mut add = |name: String, case| {
        let known = suites.iter().position(|(known, _)| *known == name);
        let index = known.unwrap_or_else(|| {
            suites.push((name.clone(), TestSuite::new(clean(&name))));
            suites.len() - 1
        });
        suites[index].1.add_test_case(case);
    };
    for cell in &input.matrix.cells {
        add(lock_with_options(cell), case(cell, input.replayable(cell)));
    }
    for one in &input.matrix.skipped {
        let reason = format!("{NOT_APPLICABLE}: {}", one.reason);
        let case = named(&one.lock, &one.scenario, one.backend, skipped(&reason));
        add(one.lock.clone(), case);
    }
    let mut report = Report::new("picklock");
    report.add_test_suites(suites.into_iter().map(|(_, suite)| suite));
    let text = report.to_string().map_err(|error| FormatError::Refused {
        format: "junit",
        reason: error.to_string(),
    })?;
    // The writer adds `skipped` to the root element, which the schema does not allow.
    let skipped = format!(r#" skipped="{}""#, report.skipped);
    let text = Inert::lines(&text.replacen(&skipped, "", 1));
    Ok(vec![File::text("junit.xml", text)])
}

fn case(cell: &Cell, replayable: Option<&str>) -> TestCase {
    let failures = failures(cell);
    let not_run = match CellOutcome::from_cell(cell) {
        CellOutcome::NotRun => cell.error.clone(),
        _ => cell
            .inapplicable()
            .map(|why| format!("{NOT_APPLICABLE}: {why}")),
    };
    let status = if let Some(reason) = &not_run {
        skipped(reason)
    } else if failures.is_empty() {
        TestCaseStatus::success()
    } else {
        let (kind, word) = if failures.iter().all(is_undecided) {
            (NonSuccessKind::Error, "inconclusive")
        } else {
            (NonSuccessKind::Failure, "unexpected")
        };
        let mut status = TestCaseStatus::non_success(kind);
        status.set_type(word);
        let lines: Vec<String> = failures.iter().map(describe).collect();
        status.set_message(clean(&lines.join("; ")));
        status.set_description(clean(&evidence(cell, &failures, replayable)));
        status
    };
    let lock = lock_with_options(cell);
    let mut case = named(&lock, &cell.scenario, cell.backend, status);
    let warnings = cell.warnings.iter();
    let warnings: Vec<String> = warnings
        .map(|warning| format!("warning: {}", clean(&warning.text)))
        .collect();
    if !warnings.is_empty() {
        case.set_system_out(warnings.join("\n"));
    }
    if let Some(elapsed_ms) = cell.elapsed_ms {
        case.set_time(Duration::from_millis(elapsed_ms));
    }
    case
}

fn skipped(reason: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(clean(reason));
    status
}

fn named(lock: &str, scenario: &str, backend: BackendName, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(clean(&format!("{scenario} ({backend})")), status);
    case.set_classname(clean(lock));
    case
}

fn describe(failure: &Mismatch) -> String {
    let often = match failure.runs {
        0 | 1 => String::new(),
        runs => format!(" in {runs} runs"),
    };
    let (property, expected, got) = (failure.property, &failure.expected, &failure.got);
    format!("{property}: expected {expected}, got {got}{often}")
}

fn evidence(cell: &Cell, failures: &[Mismatch], replayable: Option<&str>) -> String {
    let mut text = String::from("\n");
    for failure in failures {
        writeln!(text, "{}", describe(failure)).ok();
    }
    for problem in problems(&cell.verdicts) {
        writeln!(text, "{}.", problem.headline()).ok();
        writeln!(text, "{}", problem.fault(&cell.verdicts)).ok();
        if let Some(remedy) = problem.remedy() {
            writeln!(text, "Remedy: {remedy}.").ok();
        }
        for line in problem.story() {
            writeln!(text, "  {}", line).ok();
        }
    }
    let undecided = failures.iter().filter(|failure| is_undecided(failure));
    let reasons = undecided.filter_map(|failure| cell.verdicts.get(&failure.property));
    let mut reasons: Vec<&String> = reasons.flat_map(|verdict| &verdict.story).collect();
    reasons.dedup();
    for line in reasons {
        writeln!(text, "  {}", line).ok();
    }
    writeln!(text, "Reproduce:\n  {}", cell.reproduce).ok();
    if let Some(run_dir) = replayable {
        let dir = quoted(run_dir);
        writeln!(text, "From its repro.toml:\n  picklock replay {dir}").ok();
    }
    text
}

/// Returns `text` with every control character escaped, because CI servers print it to terminals too. The
/// other characters that XML 1.0 forbids even as references are replaced by `�`.
fn clean(text: &str) -> String {
    visible_lines(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

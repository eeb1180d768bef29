//! Warnings: every report shows them, and reports of a matrix show one line for each lock.

use picklock_reports::combine::from_run;
use picklock_reports::gate::{
    GateRuns, Rules, decide, gate_json, markdown, terminal as gate_terminal,
};
use picklock_reports::inert::Inert;
use picklock_reports::markdown::{comment, summary};
use picklock_reports::report_input::ReportInput;
use picklock_reports::terminal::{Detail, matrix, run};
use picklock_verdicts::check::{WarnedRequest, Warning, WarningKind};
use picklock_verdicts::record::MatrixRecord;

use crate::cell::cell;
use crate::cells::file;
use crate::samples;
use crate::terminal::plain;

fn failed(count: u64, of: u64) -> Warning {
    let kind = WarningKind::FailedWithoutFault {
        request: WarnedRequest::Acquire,
        count,
        of,
        first: "null\u{1b}[31m".into(),
        first_at_ns: 5,
    };
    kind.into()
}

/// Returns a matrix in which one of two locks has a warning in two of its three scenarios.
fn with_warnings() -> MatrixRecord {
    let mut cells: Vec<_> = ["calm", "gc-pause", "late-release"]
        .into_iter()
        .flat_map(|scenario| ["mine", "set-nx-px"].map(|lock| cell(lock, scenario, &[])))
        .collect();
    cells[0].warnings = vec![failed(3, 4)];
    cells[4].warnings = vec![failed(5, 8)];
    MatrixRecord {
        cells,
        ..MatrixRecord::default()
    }
}

const OF_LOCK: &str = "mine in calm and 1 more: 8 of 12 acquire requests failed";

fn unwrapped(text: &Inert) -> String {
    let words: Vec<String> = plain(text.as_str())
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    words.join(" ")
}

#[track_caller]
fn has_once(text: &str, part: &str) {
    assert_eq!(text.matches(part).count(), 1, "{part} in {text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn passing_run_shows_its_warnings() {
    let (mut record, history) = samples::calm();
    record.warnings = vec![failed(3, 4)];
    for detail in [Detail::Answer, Detail::Everything] {
        let text = unwrapped(&run(&record, &history, 100, detail));
        has_once(
            &text,
            "! 3 of 4 acquire requests failed although no fault or stall",
        );
    }
    let input = from_run(record, Some(history));
    has_once(
        &file(&input, "html", "report.html"),
        "Warning: 3 of 4 acquire requests",
    );
    let junit = file(&input, "junit", "junit.xml");
    has_once(
        &junit,
        "<system-out>warning: 3 of 4 acquire requests failed",
    );
}

#[test]
fn failed_run_shows_its_warnings_next_to_its_answer() {
    let (mut record, history) = samples::gc_pause();
    record.warnings = vec![failed(3, 4)];
    let text = plain(run(&record, &history, 100, Detail::Answer).as_str());
    let answer = text
        .split("\n\n")
        .find(|part| part.starts_with("✘ ") && part.contains("Remedy"));
    assert!(
        answer.unwrap_or_default().contains("! 3 of 4 acquire"),
        "{text}"
    );
}

#[test]
fn matrix_has_one_line_for_each_lock() {
    let record = with_warnings();
    has_once(&unwrapped(&matrix(&record, 100)), OF_LOCK);
    let input = ReportInput {
        matrix: record,
        ..ReportInput::default()
    };
    for text in [summary(&input), comment(&input)] {
        has_once(&text, OF_LOCK);
    }
    has_once(&file(&input, "html", "report.html"), OF_LOCK);
}

#[test]
fn gate_that_passes_has_one_line_for_each_lock() {
    let runs = GateRuns {
        matrix: with_warnings(),
        paired: Vec::new(),
    };
    let decision = decide(&Rules::default(), None, &runs);
    has_once(&unwrapped(&gate_terminal(&decision, 100)), OF_LOCK);
    has_once(&markdown(&decision), OF_LOCK);
    has_once(&gate_json(&decision), OF_LOCK);
}

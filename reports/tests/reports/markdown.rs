//! Markdown: the order of its sections, and the escaping of untrusted text.

use picklock_reports::combine::from_run;
use picklock_reports::markdown::{COMMENT_BYTES, SUMMARY_BYTES, comment, summary};
use picklock_reports::report_input::ReportInput;

use crate::cells::{hostile, matrix};
use crate::samples;
use crate::searches::sweep;

#[test]
fn matrix_report_lists_worst_cells_first() {
    insta::assert_snapshot!(summary(&matrix()));
}

#[test]
fn single_run_is_reported_as_a_matrix_of_one_cell() {
    let (record, history) = samples::gc_pause();
    let text = comment(&from_run(record, Some(history)));
    assert!(
        text.contains("✘ 1 cell without an expectation has a violation"),
        "{text}"
    );
    assert!(text.contains("picklock scenario gc-pause"), "{text}");
}

#[test]
fn search_without_counterexamples_states_its_coverage() {
    let mut input = ReportInput {
        searches: vec![sweep("set-nx-px")],
        ..ReportInput::default()
    };
    assert!(summary(&input).starts_with("## Picklock: ✘ 1 counterexample in 41 schedules\n"));
    input.searches[0].counterexamples.clear();
    for text in [summary(&input), comment(&input)] {
        for part in [
            "## Picklock: no counterexample in 41 schedules\n",
            "41 schedules with one fault were run and judged.",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(
            !text.contains("no cell was run") && !text.contains("0 cells"),
            "{text}"
        );
    }
}

#[test]
fn markup_in_names_is_escaped() {
    for text in [summary(&hostile()), comment(&hostile())] {
        assert!(!text.contains("<script"), "{text}");
        assert!(!text.contains("](http"), "{text}");
        let opened = text.matches("<details>").count();
        assert!(opened > 0);
        assert_eq!(text.matches("</details>").count(), opened);
        assert_eq!(
            text.matches("<pre>").count(),
            text.matches("</pre>").count()
        );
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
        // There is no `@` outside of code and blocks, where GitHub looks for mentions.
        let mut outside = text.clone();
        for (open, close) in [("<pre>", "</pre>"), ("<code>", "</code>")] {
            while let Some(from) = outside.find(open) {
                let until = outside[from..].find(close).unwrap() + from + close.len();
                outside.replace_range(from..until, "");
            }
        }
        assert!(
            !outside.contains('@') && !outside.contains("&#64;t"),
            "{outside}"
        );
        // Every row of a table has as many cells as its head.
        let mut bars = None;
        for line in text.lines() {
            if line.starts_with('|') {
                let count = line.matches('|').count();
                assert_eq!(*bars.get_or_insert(count), count, "{line}");
            } else {
                bars = None;
            }
        }
    }
}

#[test]
fn oversized_report_is_cut_with_a_note() {
    let mut material = matrix();
    let cells = material.matrix.cells.clone();
    for number in 0..3_000 {
        for cell in &cells {
            let mut cell = cell.clone();
            cell.scenario = format!("scenario-{number}");
            material.matrix.cells.push(cell);
        }
    }
    let (long, short) = (summary(&material), comment(&material));
    assert!(
        long.len() <= SUMMARY_BYTES && long.len() > SUMMARY_BYTES * 9 / 10,
        "{}",
        long.len()
    );
    assert!(
        short.len() <= COMMENT_BYTES && short.len() > COMMENT_BYTES * 9 / 10,
        "{}",
        short.len()
    );
    for text in [long, short] {
        let last = text.trim_end().lines().last().unwrap();
        assert!(
            last.starts_with("> **Cut to fit:**") && last.contains("stories"),
            "{last}"
        );
        assert_eq!(
            text.matches("<details>").count(),
            text.matches("</details>").count()
        );
    }
}

//! The page of a search: its counterexamples, its coverage, and the heat map.

use picklock_reports::html::page;
use picklock_reports::report_input::ReportInput;

use super::runs;
use crate::cells::HOSTILE;
use crate::searches::sweep;

/// Returns a search whose counterexample's run is on the page.
pub fn searched() -> ReportInput {
    let mut input = runs::matrix(&["set-nx-px"], &["gc-pause"], 1);
    let run_dir = "out/ownership-stolen-release-1";
    input.matrix.cells[0].run_dir = Some(run_dir.into());
    input.evidence[0].run_dir = run_dir.into();
    input.searches = vec![sweep("set-nx-px")];
    input
}

#[test]
fn page_of_a_search_has_statement_and_heat_map() {
    let page = page(&searched()).unwrap();
    for part in [
        "set-nx-px: 1 fault of its own",
        "<b>stolen-release</b>",
        "client 0 is frozen for 1.5 leases",
        "client 0 deleted what client 1 had written",
        "The run without faults has 14 injection points",
        "<a href=\"#cell-gc-pause-set-nx-px-sim\" data-index=\"0\">Its run, with the timeline</a>",
        "<td class=\"heat-4\">8 ✘8</td>",
        "<td class=\"heat-0\">8</td>",
        "<td class=\"heat-1\">12 ✘1</td>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
}

#[test]
fn search_without_saved_runs_has_no_matrix() {
    let input = ReportInput {
        searches: vec![sweep(HOSTILE)],
        ..ReportInput::default()
    };
    let page = page(&input).unwrap();
    assert!(!page.contains("id=\"matrix\""));
    assert!(!page.contains("href=\"#cell-"));
    assert!(!page.contains("<script>alert"));
}

#[test]
fn runs_of_counterexamples_are_not_a_grid() {
    let mut input = searched();
    let (cell, evidence) = (input.matrix.cells[0].clone(), input.evidence[0].clone());
    input.matrix.cells.push(cell);
    input.evidence.push(evidence);
    let alone = page(&input).unwrap();
    assert!(alone.contains("<p>1 counterexample in"), "the tally");
    assert!(alone.contains("the lock&#39;s fault (1)."), "the tally");
    assert!(alone.contains("data-first=\"0\"") && !alone.contains("id=\"matrix\""));

    input.matrix.cells[1].run_dir = Some("another/run".into());
    assert!(page(&input).unwrap().contains("id=\"matrix\""));
}

//! The page of a search in a browser.

use picklock_reports::html::page;
use picklock_reports::report_input::ReportInput;

use super::Sheet;
use super::looks::{assert_no_overflow, save_picture, written};
use crate::html::searched::searched;
use crate::searches::sweep;

#[test]
fn counterexample_on_the_page_opens_its_run() {
    let file = written("search.html", &page(&searched()).unwrap());
    let sheet = Sheet::open(&file, 1280, 900);
    assert_eq!(
        sheet.number("document.querySelectorAll('.heat tbody tr').length"),
        2.0
    );
    assert_no_overflow(&sheet);
    sheet.click(".counterexample a");
    sheet.settle();
    assert_eq!(
        sheet.number("document.querySelectorAll('.cell-details[open] .timeline').length"),
        1.0
    );
    sheet.size(390, 800);
    sheet.settle();
    assert_no_overflow(&sheet);
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

#[test]
fn page_of_a_search_without_runs_has_no_complaints() {
    let input = ReportInput {
        searches: vec![sweep("redlock")],
        ..ReportInput::default()
    };
    let file = written("search-alone.html", &page(&input).unwrap());
    let sheet = Sheet::open(&file, 1280, 900);
    assert_no_overflow(&sheet);
    save_picture("search.png", &sheet.picture());
    assert_eq!(sheet.complaints(), Vec::<String>::new());
}

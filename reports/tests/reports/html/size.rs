//! A page stays small enough to be sent to somebody, however long the history.

use std::collections::BTreeMap;

use picklock_reports::html::page;
use picklock_reports::report_input::Evidence;
use picklock_verdicts::check::judge;

use super::{histories, runs};

#[test]
fn a_million_events_fit_into_ten_megabytes_and_the_page_says_what_it_left_out() {
    let history = histories::long(166_667);
    assert!(history.events.len() >= 1_000_000);
    let record = runs::record(&history, judge(&history), "A long one.");
    let mut material = runs::nothing(1);
    material.matrix.cells = vec![runs::of_record(&record, "long", BTreeMap::new())];
    material.evidence = vec![Evidence {
        run_dir: "long".into(),
        record,
        history: Some(history),
        wire: None,
        has_repro: false,
    }];
    let page = page(&material).unwrap();
    assert!(page.len() < 10_000_000, "{} bytes", page.len());
    assert!(page.contains("is drawn together"));
    assert!(page.contains("overlapping holds"), "overlaps are kept");
}

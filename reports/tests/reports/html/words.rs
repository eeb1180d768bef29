//! The text of the page, and its treatment of untrusted text.

use std::collections::BTreeMap;

use picklock_reports::html::page;
use picklock_reports::report_input::{Evidence, ReportInput};
use picklock_verdicts::check::{Property, judge};
use picklock_verdicts::expectation::Expectation;
use picklock_verdicts::history::EventKind;
use picklock_verdicts::record::{CiJob, Tally};

use super::{expanded, histories, runs};

/// Returns the text between the first `open` and the next `close`.
fn between<'a>(text: &'a str, open: &str, close: &str) -> &'a str {
    let from = text.find(open).unwrap_or_else(|| panic!("no {open}")) + open.len();
    let to = text[from..]
        .find(close)
        .unwrap_or_else(|| panic!("no {close}"));
    &text[from..from + to]
}

#[test]
fn matrix_shows_fault_and_confidence() {
    let matrix = runs::matrix(&["set-nx-px", "redlock"], &["calm", "gc-pause"], 5);
    let page = expanded(&page(&matrix).unwrap());
    for words in [
        "client outlived its lease",
        "outlived-lease",
        "violated 0 of 5 (≤ 52.2 %)",
        "violated 5 of 5 (≥ 47.8 %)",
        "picklock scenario gc-pause --impl redlock --backend sim --seed 1",
        "Clopper and Pearson",
        "2 processors, 2 cells at a time",
        "model of redis 7.0.15",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert_eq!(page.matches("<details class=\"cell-details").count(), 4);
    assert_eq!(page.matches("class=\"tile").count(), 4);
}

#[test]
fn deciding_lines_have_numbers_in_order_of_time() {
    let page = page(&runs::matrix(&["set-nx-px"], &["gc-pause"], 1)).unwrap();
    let story = between(&page, "<ol class=\"story\">", "</ol>");
    let lines: Vec<&str> = story.split("<li").skip(1).collect();
    let text = |line: &&str| between(line, "<span>", "</span>").to_owned();
    let texts: Vec<String> = lines.iter().map(text).collect();
    let steps = [
        " got the lock",
        "the lease of client ",
        " still held it",
        " changed the stock ",
    ];
    let mut rest = texts.iter();
    for step in steps {
        assert!(rest.any(|text| text.contains(step)), "{step}: {texts:#?}");
    }
    let times = lines.iter().filter(|it| it.contains("data-at"));
    let times: Vec<u64> = times
        .map(|it| between(it, "data-at=\"", "\"").parse().unwrap())
        .collect();
    assert!(times.is_sorted(), "{times:?}");
    // The numbers count the deciding lines, as those of the terminal do.
    let numbered: Vec<&&str> = lines.iter().filter(|it| it.contains("deciding")).collect();
    let number = |line: &&&str| between(line, "data-number=\"", "\"").parse().unwrap();
    let numbers: Vec<usize> = numbered.iter().map(number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert!(numbered[0].contains(" still held it"), "{}", numbered[0]);
}

#[test]
fn ci_job_is_named_with_a_link_to_its_page() {
    let mut matrix = runs::matrix(&["set-nx-px"], &["calm", "gc-pause"], 1);
    matrix.matrix.ci_job = Some(CiJob {
        date: "2026-11-30".into(),
        commit: Some("1a2b3c4d5e6f".into()),
        url: Some("https://ci.example/me/shop/runs/7".into()),
    });
    let header = |matrix: &ReportInput| {
        let page = page(matrix).unwrap();
        between(&page, "<header", "</header>").to_owned()
    };
    let shown = header(&matrix);
    assert!(shown.contains(
        "2026-11-30 · commit 1a2b3c4 · <a href=\"https://ci.example/me/shop/runs/7\">CI run</a>"
    ));
    // An address that is not a web page, or that contains markup, is no link.
    for url in [
        "javascript:alert(1)",
        "https://x/\u{202e}",
        "https://x/ onclick=y",
    ] {
        if let Some(job) = &mut matrix.matrix.ci_job {
            job.url = Some(url.into());
        }
        assert!(!header(&matrix).contains("<a "), "{url}");
    }
    matrix.matrix.ci_job = None;
    assert!(!header(&matrix).contains("commit"));
}

#[test]
fn page_makes_no_network_requests() {
    let page = page(&runs::matrix(&["set-nx-px"], &["gc-pause"], 1)).unwrap();
    assert!(page.contains("default-src 'none'; style-src 'sha256-"));
    assert!(page.contains("base-uri 'none'; form-action 'none'"));
    // The hashes cover every style and script on the page.
    assert!(!page.contains("unsafe-inline") && !page.contains(" style="));
    for way_out in [
        "http:",
        "https:",
        "src=",
        "@import",
        "url(",
        "<link rel=\"stylesheet",
    ] {
        assert!(!page.contains(way_out), "{way_out}");
    }
}

#[test]
fn unexpected_result_is_shown_with_its_expectation() {
    let mut material = runs::matrix(&["set-nx-px"], &["calm"], 1);
    let cell = &mut material.matrix.cells[0];
    cell.mismatches = vec![picklock_verdicts::record::Mismatch {
        property: Property::Lease,
        expected: "held".parse().unwrap(),
        got: "violated: evicted".parse().unwrap(),
        runs: 3,
    }];
    let page = page(&material).unwrap();
    assert!(page.contains("lease violated: evicted, expected held"));
    assert!(page.contains("‼ unexpected"));
}

#[test]
fn lock_with_options_has_its_own_column() {
    let mut material = runs::matrix(&["set-nx-px"], &["calm"], 1);
    let mut other = material.matrix.cells[0].clone();
    other.options.insert("retry_delay".into(), "50ms".into());
    material.matrix.cells.push(other);
    let page = page(&material).unwrap();
    for lock in ["set-nx-px", "set-nx-px,retry_delay=50ms"] {
        let column = format!("<th scope=\"col\"><div>{lock}</div></th>");
        assert!(page.contains(&column), "{lock}");
    }
}

#[test]
fn failed_or_unreadable_cells_are_listed() {
    let mut material = runs::matrix(&["set-nx-px"], &["calm"], 1);
    material.matrix.cells[0].error = Some("no Redis <here>".into());
    material.skipped = vec!["runs/<x>: a record of another version".into()];
    material.evidence.clear();
    let page = page(&material).unwrap();
    assert!(page.contains("Failed to run: no Redis &#60;here&#62;"));
    assert!(page.contains("Skipped: runs/&#60;x&#62;: a record of another version"));
}

/// All run directories may be missing. The page still shows the data of the matrix, and its head stays short.
#[test]
fn missing_run_directory_is_noted() {
    let mut material = runs::matrix(&["set-nx-px"], &["calm", "gc-pause"], 1);
    material.evidence.clear();
    material.skipped = (0..9).map(|n| format!("the run of {n}: gone")).collect();
    let page = page(&material).unwrap();
    assert_eq!(page.matches("class=\"notice\">Skipped").count(), 6);
    assert!(page.contains("Skipped: 4 more."));
    let page = expanded(&page);
    let gone = "<code>cells/set-nx-px/gc-pause/sim</code>, is missing or cannot be read";
    assert!(page.contains(gone));
    assert!(
        page.contains("client 1 got the lock"),
        "the story comes from the matrix"
    );
    assert!(!page.contains("class=\"timeline\""));
}

#[test]
fn page_without_cells_is_written() {
    let page = page(&runs::nothing(1)).unwrap();
    assert!(page.ends_with("</html>\n") || page.ends_with("</html>"));
}

#[test]
fn cell_without_history_shows_its_latencies() {
    let mut material = runs::matrix(&["set-nx-px"], &["calm"], 1);
    material.evidence[0].history = None;
    let without_history = page(&material).unwrap();
    assert!(
        without_history.contains("all runs of the cell together")
            && without_history.contains("<polyline")
    );
    assert!(without_history.contains("This cell has no saved history"));
    for latency in material.matrix.cells[0].latency.values_mut() {
        latency.histogram = "not base64 ".into();
    }
    let broken = page(&material).unwrap();
    assert!(!broken.contains("<polyline"));
}

/// Tests a lock whose name tries every way to break out of the markup.
#[test]
fn markup_in_names_is_escaped() {
    let attack = "</script><!--<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u{2028}\
                  \u{202e}🔓&amp;";
    let mut history = histories::long(40);
    history.header.keys = vec![attack.into()];
    history.header.lock = attack.into();
    for event in &mut history.events {
        if let EventKind::Granted { token, .. } = &mut event.what {
            *token = attack.into();
        }
    }
    let fault = EventKind::FaultBegan {
        id: 1,
        fault: attack.into(),
        detail: attack.into(),
        workers: vec![0],
        nodes: vec![0],
        clock: None,
        delay_ms: None,
    };
    let at_ns = history.events.last().unwrap().at_ns;
    history
        .events
        .push(picklock_verdicts::history::Event { at_ns, what: fault });
    let verdicts = judge(&history);
    let mut record = runs::record(&history, verdicts, attack);
    record.redis.version = attack.into();
    record.trouble = vec![attack.into()];
    record.backend_reason = attack.into();
    let mut cell = runs::from_record(&record, attack, BTreeMap::new());
    cell.expected = BTreeMap::from([(
        Property::Lease,
        Expectation::Any {
            reason: Some(attack.to_owned()),
        },
    )]);
    cell.tally = BTreeMap::from([(Property::Lease, Tally::default())]);
    let mut material = runs::nothing(1);
    material.matrix.cells = vec![cell];
    material.matrix.reproduce = attack.into();
    material.skipped = vec![attack.into()];
    material.evidence = vec![Evidence {
        run_dir: attack.into(),
        record,
        history: Some(history),
        command_log: None,
        has_repro: false,
    }];
    let page = page(&material).unwrap();
    assert!(!page.contains("<img"), "markup got through");
    // The page's own script, and the data of its only timeline.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<!--"));
    assert!(!page.contains(['\u{2028}', '\u{202e}']));
    let data = between(&page, "id=\"track-0\">", "</script>");
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert!(
        data["keys"][0]
            .as_str()
            .unwrap()
            .starts_with("</script><!--")
    );
}

#[test]
fn long_name_is_truncated_and_whole_on_hover() {
    let long = "looong🔒 ".repeat(1_250);
    let mut material = runs::matrix(&["set-nx-px"], &["calm"], 1);
    material.matrix.cells[0].lock.name = long.clone();
    let page = page(&material).unwrap();
    assert!(page.contains(&format!("title=\"{long}\"")));
    assert!(!page.contains(&format!(">{long}<")));
    assert!(page.len() < 1_000_000);
}

#[test]
fn million_events_fit_into_ten_megabytes() {
    let history = histories::long(166_667);
    assert!(history.events.len() >= 1_000_000);
    let record = runs::record(&history, judge(&history), "A long one.");
    let mut material = runs::nothing(1);
    material.matrix.cells = vec![runs::from_record(&record, "long", BTreeMap::new())];
    material.evidence = vec![Evidence {
        run_dir: "long".into(),
        record,
        history: Some(history),
        command_log: None,
        has_repro: false,
    }];
    let page = page(&material).unwrap();
    assert!(page.len() < 10_000_000, "{} bytes", page.len());
    assert!(page.contains("are drawn as one"));
    assert!(page.contains("overlapping holds"), "overlaps are shown");
}

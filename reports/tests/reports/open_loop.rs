//! Open loops: both latencies are in every output with their start, and unserved buyers are counted.

use picklock_reports::combine::from_run;
use picklock_reports::documents;
use picklock_reports::gate::Metric;
use picklock_reports::html::page;
use picklock_reports::markdown::{comment, summary};
use picklock_reports::report_input::ReportInput;
use picklock_reports::terminal;
use picklock_verdicts::latency::REQUESTED;

use crate::samples;
use crate::terminal::plain;

fn rush() -> ReportInput {
    let (record, history) = samples::rush();
    from_run(record, Some(history))
}

#[test]
fn terminal_states_the_start_of_each_latency() {
    let (record, history) = samples::rush();
    let text = plain(&terminal::run(
        &record,
        &history,
        100,
        terminal::Detail::Everything,
    ));
    let from = text.find("  counts").unwrap();
    insta::assert_snapshot!(text[from..].trim_end(), @"
      counts    8 arrived · 2 unserved · 6 granted · 0 refused · 0 failed · 6 released · 2 sold of 3, 1
                left
      latency        p50     p90     p99   p99.9     max   count
      acquire     152 ms  424 ms  424 ms  424 ms  424 ms       6
      · request     2 ms  424 ms  424 ms  424 ms  424 ms       6
      release       1 ms    1 ms    1 ms    1 ms    1 ms       6
                acquire is measured from the buyer's arrival, request from the client's request
      took      setup 12 ms · workload 3.41 s · teardown 3 ms

    ✔ Held: exclusion lease resource ownership – fencing progress claims once

      again: picklock scenario rush --impl set-nx-px --backend sim --seed 7 --workers 2
    ");
    let narrow = plain(&terminal::run(
        &record,
        &history,
        60,
        terminal::Detail::Everything,
    ));
    assert!(narrow.lines().all(|line| line.chars().count() <= 60));
}

#[test]
fn record_has_both_latencies_and_unserved_buyers() {
    let (record, _) = samples::rush();
    let json: serde_json::Value = serde_json::from_str(&documents::json(&record)).unwrap();
    assert_eq!(json["counts"]["arrived"], 8);
    assert_eq!(json["counts"]["unserved"], 2);
    let p50_us = |operation: &str| json["latency"][operation]["p50_us"].as_u64().unwrap();
    assert!(p50_us("acquire") > 150_000 && p50_us(REQUESTED) < 3_000);
    // A closed loop has none of these keys.
    let (closed, _) = samples::calm();
    let json = documents::json(&closed);
    for word in [REQUESTED, "arrived", "unserved"] {
        assert!(!json.contains(word), "{word}");
    }
}

#[test]
fn page_draws_both_latencies() {
    let material = rush();
    let shown = page(&material).unwrap();
    let mut without_history = material;
    without_history.evidence[0].history = None;
    let without_history = page(&without_history).unwrap();
    for page in [&shown, &without_history] {
        for words in ["> from the intended start</th>", "> from the request</th>"] {
            assert_eq!(page.matches(words).count(), 1, "{words}");
        }
        assert!(page.contains("8 arrived, 2 unserved"));
        assert!(page.contains("longest 424 ms; from the request"));
    }
    assert!(shown.contains("<figcaption>acquire, from the intended start</figcaption>"));
    let (record, history) = samples::calm();
    let closed = page(&from_run(record, Some(history))).unwrap();
    assert!(
        !closed.contains("from the request") && closed.contains("<figcaption>acquire</figcaption>")
    );
}

#[test]
fn markdown_has_a_row_for_open_loops() {
    let text = summary(&rush());
    let from = text.find("### Open loops").unwrap();
    let table = text[from..].split("\n\n").take(3).collect::<Vec<_>>();
    insta::assert_snapshot!(table.join("\n\n"), @"
    ### Open loops

    Time to acquire (median / 99 % / longest): from the intended start, when the buyer arrived; and from the request that a worker sent for the buyer.

    | lock | scenario | backend | arrived | unserved | from the intended start | from the request |
    |---|---|---|---:|---:|---|---|
    | <code>set-nx-px</code> | <code>rush</code> | <code>process</code> | 8 | 2 | 152 ms / 424 ms / 424 ms | 2 ms / 424 ms / 424 ms |
    ");
    assert!(!comment(&rush()).contains("Open loops"));
    let (record, history) = samples::calm();
    assert!(!summary(&from_run(record, Some(history))).contains("Open loops"));
}

#[test]
fn gate_limits_both_latencies_and_unserved_buyers() {
    let material = rush();
    let cell = &material.matrix.cells[0];
    let value = |name: &str| Metric::named(name).unwrap().value_in(cell);
    assert!(value("acquire.p50").unwrap() > 150_000.0);
    assert!(value("acquire_requested.p50").unwrap() < 3_000.0);
    assert_eq!(value("acquire_requested.count"), Some(6.0));
    assert_eq!(value("unserved"), Some(2.0));
    let (record, history) = samples::calm();
    let closed = &from_run(record, Some(history)).matrix.cells[0];
    for word in [
        "acquire_requested.p50",
        "acquire_requested.count",
        "unserved",
    ] {
        assert_eq!(
            Metric::named(word).unwrap().value_in(closed),
            None,
            "{word}"
        );
    }
}

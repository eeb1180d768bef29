//! The machine's document against the contract.

use picklock_reports::run_document::{RecordError, parse, run_json};
use serde_json::Value;

use crate::samples;

/// The keys that the machine contract promises, as paths; kept stable.
const PROMISED: [&str; 37] = [
    "/format",
    "/impl/name",
    "/impl/version",
    "/scenario",
    "/backend",
    "/seed",
    "/redis/server",
    "/redis/version",
    "/verdicts/exclusion/status",
    "/verdicts/exclusion/cause",
    "/verdicts/exclusion/story/0",
    "/verdicts/lease/status",
    "/verdicts/resource/status",
    "/verdicts/ownership/status",
    "/verdicts/fencing/status",
    "/verdicts/progress/status",
    "/counts/granted",
    "/counts/refused",
    "/counts/failed",
    "/counts/extended",
    "/counts/released",
    "/counts/sold",
    "/counts/stock_start",
    "/counts/stock_left",
    "/latency/acquire/count",
    "/latency/acquire/p50_us",
    "/latency/acquire/p90_us",
    "/latency/acquire/p99_us",
    "/latency/acquire/p999_us",
    "/latency/acquire/max_us",
    "/latency/acquire/histogram",
    "/latency/release/count",
    "/faults/0/fault",
    "/faults/0/detail",
    "/faults/0/began_ns",
    "/faults/0/ended_ns",
    "/reproduce",
];

/// In this order, with others in between.
const ORDER: [&str; 11] = [
    "format",
    "impl",
    "scenario",
    "backend",
    "seed",
    "redis",
    "verdicts",
    "counts",
    "latency",
    "faults",
    "reproduce",
];

#[test]
fn record_has_every_documented_key() {
    let (record, _) = samples::gc_pause();
    let document: Value = serde_json::from_str(&run_json(&record)).unwrap();
    for path in PROMISED {
        assert!(document.pointer(path).is_some(), "{path} is missing");
    }
    assert_eq!(document["format"], "picklock-run/1");
    assert_eq!(document["verdicts"]["exclusion"]["status"], "violated");
    assert_eq!(document["verdicts"]["exclusion"]["cause"], "outlived-lease");
    assert_eq!(document["verdicts"]["fencing"]["status"], "not-applicable");
}

#[test]
fn the_format_leads_and_keys_keep_their_order() {
    let (record, _) = samples::gc_pause();
    let text = run_json(&record);
    assert!(text.starts_with("{\n  \"format\": "));
    let places = ORDER.map(|key| text.find(&format!("\n  \"{key}\":")).expect(key));
    assert!(places.is_sorted(), "{places:?}");
    let properties = [
        "exclusion",
        "lease",
        "resource",
        "ownership",
        "fencing",
        "progress",
    ];
    let places = properties.map(|key| text.find(&format!("\n    \"{key}\":")).expect(key));
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn written_record_reads_back_equal() {
    for (record, _) in [
        samples::gc_pause(),
        samples::calm(),
        samples::hostile(),
        samples::interrupted(),
        samples::no_grants(),
    ] {
        assert_eq!(parse(&run_json(&record)).unwrap(), record);
    }
}

#[test]
fn foreign_document_is_refused_with_a_reason() {
    let says = |text: &str| parse(text).unwrap_err().to_string();
    assert!(matches!(parse("{"), Err(RecordError::NotJson(_))));
    assert_eq!(
        says("[]"),
        "not a run record: expected an object with \"format\": \"picklock-run/1\""
    );
    assert_eq!(
        says(r#"{"format": "picklock-matrix/1"}"#),
        "not a run record: its format is \"picklock-matrix/1\"; expected \"picklock-run/1\""
    );
    assert_eq!(
        says(r#"{"format": "picklock-run/2"}"#),
        "a run record of another version: its format is \"picklock-run/2\", this picklock reads \
         \"picklock-run/1\"; use the picklock that made it, or a newer one"
    );
    assert_eq!(
        says("{\"format\": \"picklock-run/1\",\n\"picklock\": 3}"),
        "not a valid picklock-run/1 document: invalid type: integer `3`, expected a string at \
         line 2 column 13"
    );
}

#[test]
fn hostile_format_name_is_cut_and_escaped() {
    let format = "\u{1b}[2J".repeat(1_000);
    let text = serde_json::json!({ "format": format }).to_string();
    let error = parse(&text).unwrap_err().to_string();
    assert!(error.len() < 400 && !error.contains('\u{1b}'), "{error}");
}

//! The JSON document against its documented keys.

use picklock_reports::documents::{Document, json, read};
use serde_json::Value;

use crate::samples;

/// The documented keys as paths. They must stay stable.
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

/// The order of keys, with other keys in between.
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
    let document: Value = serde_json::from_str(&json(&record)).unwrap();
    for path in PROMISED {
        assert!(document.pointer(path).is_some(), "{path} is missing");
    }
    assert_eq!(document["format"], "picklock-run/1");
    assert_eq!(document["verdicts"]["exclusion"]["status"], "violated");
    assert_eq!(document["verdicts"]["exclusion"]["cause"], "outlived-lease");
    assert_eq!(document["verdicts"]["fencing"]["status"], "not-applicable");
}

#[test]
fn document_starts_with_the_format_and_keeps_key_order() {
    let (record, _) = samples::gc_pause();
    let text = json(&record);
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
        let Ok(Document::Run(mut again)) = read(&json(&record)) else {
            panic!("not a run record");
        };
        // A command that a user would copy is read only in the form that picklock writes.
        if record.reproduce.contains('\u{1b}') {
            assert!(
                again.reproduce.starts_with("# not shown"),
                "{}",
                again.reproduce
            );
            again.reproduce.clone_from(&record.reproduce);
        }
        assert_eq!(*again, record);
    }
}

#[test]
fn hostile_format_name_is_truncated_and_escaped() {
    let format = "\u{1b}[2J".repeat(1_000);
    let text = serde_json::json!({ "format": format }).to_string();
    let error = read(&text).unwrap_err().to_string();
    assert!(error.len() < 400 && !error.contains('\u{1b}'), "{error}");
}

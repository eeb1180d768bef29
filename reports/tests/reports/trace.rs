//! The trace follows the rules of the format, and contains the events of the run.

use std::collections::HashMap;

use picklock_reports::combine::from_run;
use serde_json::Value;

use crate::cells::{hostile, matrix};
use crate::key_history_samples;
use crate::samples::{self, Sample};

fn events(text: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(text).unwrap();
    assert_eq!(document["displayTimeUnit"], "ms");
    document["traceEvents"].as_array().unwrap().clone()
}

fn trace((record, history): Sample) -> Vec<Value> {
    let files = picklock_reports::trace::files(&from_run(record, Some(history))).unwrap();
    assert_eq!(files.len(), 1);
    events(std::str::from_utf8(files[0].bytes()).unwrap())
}

/// Returns the first rule of the format that an event violates.
fn violated_rule(event: &Value) -> Option<&'static str> {
    let number = |key: &str| event[key].as_f64();
    if !event["name"].is_string() || !event["pid"].is_u64() || !event["tid"].is_u64() {
        return Some("no name, pid or tid");
    }
    if number("ts").is_none_or(|ts| ts < 0.0) {
        return Some("no time");
    }
    match event["ph"].as_str() {
        Some("M") if !event["args"]["name"].is_string() => Some("a track without a name"),
        Some("M") => None,
        Some("X") if number("dur").is_none_or(|dur| dur < 0.0) => Some("no duration"),
        Some("i") if event["s"] != "t" => Some("an instant without a scope"),
        Some("C") if !event["args"]["units"].is_i64() => Some("a counter that counts nothing"),
        Some("X" | "i" | "C") => None,
        _ => Some("an unknown phase"),
    }
}

/// Returns a violation of the rule that complete events of one track must be disjoint or nested.
fn crossing(events: &[Value]) -> Option<String> {
    let mut tracks: HashMap<(u64, u64), Vec<(u64, u64)>> = HashMap::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let track = (event["pid"].as_u64()?, event["tid"].as_u64()?);
        // Convert back to whole nanoseconds, the unit of measurement.
        let ns = |us: f64| (us * 1_000.0).round() as u64;
        let from = ns(event["ts"].as_f64()?);
        let until = from + ns(event["dur"].as_f64()?);
        tracks.entry(track).or_default().push((from, until));
    }
    for (track, mut spans) in tracks {
        spans.sort_by_key(|(from, until)| (*from, std::cmp::Reverse(*until)));
        let mut open: Vec<u64> = Vec::new();
        for (from, until) in spans {
            while open.last().is_some_and(|end| *end <= from) {
                open.pop();
            }
            if open.last().is_some_and(|end| *end < until) {
                return Some(format!(
                    "{track:?}: {from}..{until} crosses the end at {open:?}"
                ));
            }
            open.push(until);
        }
    }
    None
}

#[test]
fn every_sample_follows_the_format() {
    let samples = [
        samples::calm(),
        samples::gc_pause(),
        samples::fenced(),
        samples::silent(),
        samples::stale_delete(),
        key_history_samples::eroded_quorum(),
        key_history_samples::hostile(),
    ];
    for sample in samples {
        let events = trace(sample);
        for event in &events {
            assert_eq!(violated_rule(event), None, "{event}");
        }
        assert_eq!(crossing(&events), None);
    }
    let files = picklock_reports::trace::files(&hostile()).unwrap();
    assert_eq!(files.len(), matrix().evidence.len());
    for file in files {
        let events = events(std::str::from_utf8(file.bytes()).unwrap());
        assert!(events.iter().all(|event| violated_rule(event).is_none()));
    }
}

#[test]
fn rules_reject_a_wrong_trace() {
    let mut events = trace(samples::gc_pause());
    let hold = events
        .iter_mut()
        .find(|event| event["name"] == "lease over")
        .unwrap();
    let dur = hold["dur"].as_f64().unwrap();
    hold["dur"] = Value::from(dur + 0.001);
    assert!(crossing(&events).is_some());
    events[0]["ph"] = Value::from("Z");
    assert!(violated_rule(&events[0]).is_some());
}

#[test]
fn trace_has_waits_holds_freezes_faults_and_stock() {
    let events = trace(samples::gc_pause());
    let times = |name: &str, pid: u64| -> Vec<(f64, f64)> {
        let matching = events
            .iter()
            .filter(|event| event["name"] == name && event["pid"] == pid);
        matching
            .map(|event| {
                (
                    event["ts"].as_f64().unwrap(),
                    event["dur"].as_f64().unwrap_or(0.0),
                )
            })
            .collect()
    };
    // Client 0 holds the lock for 1.61 s, of which 0.612 s are past its lease. It is frozen for 1.5 s.
    assert!(times("holds", 1).contains(&(222_000.0, 1_610_000.0)));
    assert!(
        times("lease over", 1).contains(&(1_220_000.0, 612_000.0)),
        "{:?}",
        times("lease over", 1)
    );
    assert_eq!(times("frozen", 4), [(240_000.0, 1_500_000.0)]);
    assert_eq!(times("pause-client", 2), [(240_000.0, 1_500_000.0)]);
    let mut stock = events.iter().filter(|event| event["ph"] == "C");
    let last = stock.next_back().unwrap();
    assert_eq!(
        (&last["name"], &last["args"]["units"]),
        (&"stock".into(), &Value::from(-1))
    );
}

#[test]
fn missing_history_is_an_error() {
    let (record, _) = samples::calm();
    let error = picklock_reports::trace::files(&from_run(record, None)).unwrap_err();
    assert!(error.to_string().contains("--out"), "{error}");
}

#[test]
fn trace_has_the_values_of_keys_with_their_ends() {
    let events = trace(key_history_samples::eroded_quorum());
    let value = |tid: u64| {
        let mut found = events.iter();
        let found = found.find(|e| e["pid"] == 5 && e["tid"] == tid && e["ph"] == "X");
        found.unwrap_or_else(|| panic!("no value on track {tid}"))
    };
    let lost = value(0);
    assert_eq!(
        (&lost["name"], &lost["ts"]),
        (&"client 0".into(), &2_000.0.into())
    );
    assert_eq!(lost["dur"], 298_000.0);
    assert_eq!(lost["args"]["ended"], "lost in restart");
    let taken = &value(3)["args"];
    assert_eq!(taken["value"], "value-of-1");
    assert_eq!(taken["written_by"], "client 1, attempt 2, acquire: SET");
    assert_eq!(taken["ended_by"], "client 0, attempt 1, release: EVALSHA");
    let bare = trace(samples::gc_pause());
    assert!(bare.iter().all(|event| event["pid"] != 5));
}

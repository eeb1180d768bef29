//! Failovers that real Sentinels decide.

use serde_json::Value;

use super::verdicts::as_expected;
use crate::running::picklock;

/// The faults in a run's history, as (begun?, fault, detail or number).
fn faults(history: &str) -> Vec<(String, String)> {
    let events = history
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let word = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
    let of_faults = events.filter_map(|event| match event["event"].as_str() {
        Some("fault-began") => Some((word(&event, "fault"), word(&event, "detail"))),
        Some("fault-ended") => Some(("ended".to_owned(), event["id"].to_string())),
        _ => None,
    });
    of_faults.collect()
}

/// Every lock; and the history tells who decided, and in which order.
fn fails_over(backend: &str) {
    for (lock, outcome) in as_expected("sentinel-failover", backend) {
        let told = faults(&outcome.text_file("run/history.jsonl"));
        let place = |fault: &str, part: &str| {
            let found = told
                .iter()
                .position(|(kind, detail)| kind == fault && detail.contains(part));
            found.unwrap_or_else(|| panic!("{lock}: no {fault}: {told:#?}"))
        };
        let cut = place("cut-replication", "node 0");
        let failover = place("failover", "left to the Sentinels");
        let frozen = place("pause-node", "until they have promoted a replica");
        let promoted = place("stale-master", "the Sentinels made 1");
        let order = [cut, failover, frozen, promoted];
        assert!(order.is_sorted(), "{lock}: {told:#?}");
        let log = outcome.text_file("run/sentinel-0.log");
        assert!(log.contains("+switch-master picklock-0"), "{lock}: {log}");
    }
}

#[test]
fn sentinel_failover_on_processes() {
    fails_over("process");
}

#[test]
fn sentinel_failover_in_containers() {
    fails_over("docker");
}

#[test]
fn stale_master_on_processes() {
    as_expected("stale-master", "process");
}

#[test]
fn stale_master_in_containers() {
    as_expected("stale-master", "docker");
}

#[test]
fn a_backend_without_sentinels_judges_nothing() {
    let line = "scenario sentinel-failover --impl set-nx-px --backend sim --json";
    let document = picklock(line).run().exits(3).document();
    for (property, verdict) in document["verdicts"].as_object().unwrap() {
        let status = verdict["status"].as_str().unwrap();
        assert!(
            ["unknown", "not-applicable"].contains(&status),
            "{property}: {verdict:#}"
        );
    }
    let text = document.to_string();
    assert!(text.contains("has no Sentinels"), "{text}");
    assert!(text.contains("supported: process, docker"), "{text}");
}

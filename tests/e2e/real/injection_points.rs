//! Triggers that refer to an acquisition fire at the command that takes the lock, even for locks that check first, and
//! the lock's key is the one that this command wrote.

use serde_json::Value;

use super::adapters::{exec, project};
use crate::running::{Outcome, picklock};

/// Returns the lock that checks the key before it takes it.
fn looks_first(arguments: &str) -> String {
    exec(
        "python3",
        &project("tests/adapters/looks_first.py"),
        arguments,
    )
}

fn run(scenario: &str, arguments: &str) -> Outcome {
    let lock = looks_first(arguments);
    let line = format!("scenario {scenario} --impl {lock} --backend process --json --out run");
    picklock(&line).run()
}

fn lines(outcome: &Outcome, file: &str) -> Vec<Value> {
    let text = outcome.text_file(file);
    let lines = text.lines().map(serde_json::from_str);
    lines.map(Result::unwrap).collect()
}

/// Returns the last command by which client 0 changed a key before the fault began.
#[track_caller]
fn fired_after(outcome: &Outcome) -> String {
    let mut last = String::new();
    for event in lines(outcome, "run/history.jsonl") {
        if event["event"] == "fault-began" {
            let detail = event["detail"].as_str().unwrap();
            assert!(!detail.contains("not known"), "{detail}");
            return last;
        }
        if event["event"] == "key-changed" && event["worker"] == 0 {
            last = format!("{} {}", event["command"], event["key"]).replace('"', "");
        }
    }
    panic!("the fault never fired: {}", outcome.all());
}

fn status(outcome: &Outcome, property: &str) -> String {
    let verdict = &outcome.document()["verdicts"][property];
    let status = verdict["status"].as_str().unwrap();
    match verdict["cause"].as_str() {
        Some(cause) => format!("{status}: {cause}"),
        None => status.to_owned(),
    }
}

#[test]
fn a_lock_that_looks_first_is_struck_when_it_takes() {
    for arguments in ["", "prefix=lock:"] {
        for scenario in ["crash-mid-acquire", "late-grant", "lost-reply"] {
            let outcome = run(scenario, arguments);
            let struck = fired_after(&outcome);
            let key = match arguments {
                "" => "SET 0",
                _ => "SET lock:picklock:stock:0000",
            };
            assert_eq!(struck, key, "{scenario}");
            if scenario == "late-grant" {
                // The client relies on an expired lease.
                assert_eq!(status(&outcome, "exclusion"), "violated: expired-grant");
            }
        }
    }
}

/// The worker dies between SETNX and PEXPIRE: no client ever gets the lock, and its key is found under its own name.
#[test]
fn a_key_with_a_prefix_that_stays_for_ever_is_found() {
    let outcome = run("crash-mid-acquire", "prefix=lock: two-steps");
    assert_eq!(fired_after(&outcome), "SETNX lock:picklock:stock:0000");
    assert_eq!(status(&outcome, "progress"), "violated: no-ttl");
    let history = outcome.text_file("run/history.jsonl");
    let left = r#""event":"key-left","node":0,"key":0,"ttl_ms":-1}"#;
    assert!(history.contains(left), "{history}");
}

#[test]
fn a_key_with_a_prefix_is_evicted() {
    let outcome = run("eviction", "prefix=redlock:");
    assert_eq!(status(&outcome, "lease"), "violated: evicted");
}

/// A missing report is not a claim, but the lock's actions are still observed.
#[test]
fn lock_that_reports_no_release_makes_no_claim() {
    let outcome = run("calm", "silent");
    for property in [
        "exclusion",
        "lease",
        "resource",
        "ownership",
        "progress",
        "claims",
    ] {
        assert_eq!(status(&outcome, property), "held", "{}", outcome.all());
    }
    let history = outcome.text_file("run/history.jsonl");
    assert!(history.contains(r#""released":null"#), "{history}");
    assert_eq!(outcome.document()["counts"]["released"], 0);
}

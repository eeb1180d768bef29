//! A machine that stands still is named, and no lock is blamed for it.

use std::time::Duration;

use rustix::process::Signal;

use crate::running::picklock;

const STANDSTILL: Duration = Duration::from_millis(700);

/// Longer than the pause, so that the harness and not the scenario decides who is late.
const LONG_STANDSTILL: Duration = Duration::from_secs(5);

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "not a wait for something: the standstill is what is tested, and has a length"
)]
fn a_standstill_during_a_fault_is_no_pass() {
    let line = "scenario gc-pause --impl redlock --backend process --json";
    let mut run = picklock(line).start();
    run.hear("fault: pause-client");
    run.signal(Signal::STOP);
    std::thread::sleep(LONG_STANDSTILL);
    run.signal(Signal::CONT);
    let outcome = run.finish();
    assert!(matches!(outcome.code, Some(1 | 3)), "{}", outcome.all());
    for (property, verdict) in outcome.document()["verdicts"].as_object().unwrap() {
        assert_ne!(verdict["status"], "held", "{property}: {}", outcome.all());
        let story = verdict["story"].to_string();
        let named = story.contains("the harness stood still for");
        assert!(
            named || verdict["status"] != "unknown",
            "{property}: {story}"
        );
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "not a wait for something: the standstill is what is tested, and has a length"
)]
fn a_driver_that_was_kept_from_running_says_so() {
    let line = "scenario gc-pause --impl set-nx-px --ttl 2s --backend process --out run";
    let mut run = picklock(line).start();
    run.hear("fault: pause-client");
    run.signal(Signal::STOP);
    std::thread::sleep(STANDSTILL);
    run.signal(Signal::CONT);
    let outcome = run.finish().exits(1);
    let history = outcome.text_file("run/history.jsonl");
    let events = history
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let stalls: Vec<u64> = events
        .filter(|event| event["event"] == "stalled")
        .map(|event| event["late_ms"].as_u64().unwrap())
        .collect();
    // A little less than it stood: it was to sleep for a part of the time.
    assert!(
        stalls.iter().any(|late_ms| (600..5000).contains(late_ms)),
        "{history}"
    );
    assert!(
        outcome.all().contains("the machine stalled for"),
        "{}",
        outcome.all()
    );
}

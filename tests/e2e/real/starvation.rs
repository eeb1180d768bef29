//! Locks that starve other clients, and the cost of waiting that is not a violation, on processes.

use serde_json::Value;

use super::adapters::{exec, project};
use crate::running::{MAX_LONG_RUNS, Outcome, picklock};

/// Runs a lock with one peculiarity. Repeats a run in which the machine stalled, unless it shows a violation all the
/// same.
fn run(peculiarity: &str, scenario: &str) -> Outcome {
    let lock = exec(
        "python3",
        &project("tests/adapters/peculiar.py"),
        peculiarity,
    );
    let line = format!("scenario {scenario} --impl {lock} --backend process --json --out run");
    picklock(&line).run_until(MAX_LONG_RUNS, |outcome| outcome.code == Some(1))
}

pub fn judged(outcome: &Outcome, property: &str) -> (String, String) {
    let verdict = &outcome.document()["verdicts"][property];
    let status = verdict["status"].as_str().unwrap();
    let cause = verdict["cause"].as_str();
    let story: Vec<&str> = verdict["story"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let judged = cause.map_or(status.to_owned(), |cause| format!("{status}: {cause}"));
    (judged, story.join("\n"))
}

#[test]
fn value_kept_alive_by_waiters_is_starvation_with_its_command() {
    std::thread::scope(|scope| {
        for scenario in ["lost-reply", "holder-crash"] {
            scope.spawn(move || {
                let outcome = run("getex-waiter", scenario);
                let (progress, story) = judged(&outcome, "progress");
                assert_eq!(progress, "violated: foreign-renewal", "{}", outcome.all());
                assert!(story.contains("GETEX of client"), "{story}");
            });
        }
    });
}

#[test]
fn moments_that_name_the_key_come_for_a_lock_that_hashes_it() {
    for scenario in ["stale-delete", "lost-release-reply"] {
        let outcome = run("hashed-key", scenario);
        for property in ["exclusion", "lease", "resource", "ownership", "progress"] {
            let (came_out, _) = judged(&outcome, property);
            assert_eq!(came_out, "held", "{scenario}: {}", outcome.all());
        }
    }
}

/// Each handover costs the rest of a lease, and the record shows it.
#[test]
fn release_that_leaves_the_key_shows_in_the_handover() {
    let handover = |peculiarity| {
        let document = run(peculiarity, "calm").document();
        document["latency"]["handover"]["p50_us"].as_u64().unwrap()
    };
    assert!(handover("encoded-release") > 500_000);
    assert!(handover("correct") < 500_000);
}

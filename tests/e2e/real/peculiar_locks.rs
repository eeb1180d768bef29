//! Locks with one peculiarity each, on processes: correct locks are not accused, and the others are accused with the
//! right cause.

use serde_json::Value;

use super::adapters::{exec, project};
use crate::running::{Outcome, picklock};

/// Performs one run.
fn run(name: &str, scenario: &str, seed: u64) -> Outcome {
    let lock = exec("python3", &project("tests/adapters/peculiar.py"), name);
    let line = format!("scenario {scenario} --impl {lock} --backend process --seed {seed} --json");
    picklock(&line).run()
}

fn verdict<'a>(document: &'a Value, property: &str) -> &'a Value {
    &document["verdicts"][property]
}

/// Returns the verdict as `property status cause`.
fn came_out(document: &Value, property: &str) -> String {
    let verdict = verdict(document, property);
    let cause = verdict["cause"].as_str().unwrap_or_default();
    let status = verdict["status"].as_str().unwrap_or_default();
    format!("{property} {status} {cause}").trim_end().to_owned()
}

/// Asserts that one run of five shows all the expected verdicts, and these words in its story. On servers it is random
/// whether two clients meet.
#[track_caller]
fn must_show(name: &str, scenario: &str, expected: &[&str], words: &str) {
    let mut shown = Vec::new();
    for seed in 1..=5 {
        let document = run(name, scenario, seed).document();
        let comes_out = |expected: &&&str| {
            let property = expected.split(' ').next().unwrap_or_default();
            let story = verdict(&document, property)["story"].to_string();
            came_out(&document, property) == **expected && story.contains(words)
        };
        if expected.iter().filter(comes_out).count() == expected.len() {
            return;
        }
        shown.push(document["verdicts"].to_string());
    }
    panic!(
        "{name}, {scenario}: not {expected:?} with `{words}`, but\n{}",
        shown.join("\n")
    );
}

/// Asserts that these properties are not violated, whatever else happens.
#[track_caller]
fn must_not_violate(name: &str, scenario: &str, properties: &[&str]) {
    let document = run(name, scenario, 1).document();
    for property in properties {
        let verdict = verdict(&document, property);
        assert_ne!(
            verdict["status"], "violated",
            "{name}, {scenario}, {property}: {verdict:#}"
        );
    }
}

#[test]
fn takeover_of_what_has_run_out_is_no_release() {
    for scenario in ["holder-crash", "gc-pause"] {
        must_not_violate("takeover-by-removal", scenario, &["ownership", "lease"]);
    }
}

#[test]
fn release_that_is_sent_once_more_is_named() {
    let expected = ["lease violated stolen-release"];
    must_show(
        "late-second-delete",
        "calm",
        &expected,
        "the DEL that client",
    );
    // With a round trip of 70 ms, the robbed client has always left before another enters.
    let expected = ["ownership violated stolen-release"];
    must_show(
        "late-second-delete",
        "network-delay",
        &expected,
        "the DEL that client",
    );
}

#[test]
fn renewal_of_another_clients_lock_is_named() {
    let expected = ["ownership violated foreign-renewal"];
    must_show(
        "blind-renewal",
        "gc-pause",
        &expected,
        "the PEXPIRE that client",
    );
}

#[test]
fn lock_in_several_keys_is_named() {
    must_show("split-key", "calm", &["lease violated split-key"], "");
}

#[test]
fn release_that_leaves_the_key_is_a_false_claim() {
    let expected = ["claims violated false-release"];
    must_show("encoded-release", "calm", &expected, "no longer its own");
}

#[test]
fn refused_extension_of_a_value_that_stands_is_a_false_claim() {
    let expected = ["claims violated refused-extension"];
    must_show("encoded-extension", "extend", &expected, "with time left");
    must_not_violate("correct", "extend", &["claims"]);
}

#[test]
fn time_that_nobody_has_waited_is_a_false_claim() {
    let expected = ["claims violated wrong-elapsed"];
    must_show("told-past", "calm", &expected, "60000 ms");
}

#[test]
fn refusal_of_a_winner_is_a_false_claim() {
    let scenario = project("tests/e2e/cases/late-winner-reply.toml");
    let scenario = scenario.display().to_string();
    let expected = ["claims violated ambiguous-acquire"];
    must_show(
        "refused-but-won",
        &scenario,
        &expected,
        "another client has the lock",
    );
    // The reply is equally late, but the lock is granted.
    must_not_violate("correct", &scenario, &["claims", "ownership", "lease"]);
}

#[test]
fn honest_peculiarities_are_no_violation() {
    for name in ["correct", "void-release", "hashed-key"] {
        must_not_violate(name, "calm", &["claims", "ownership", "lease", "exclusion"]);
        must_not_violate(name, "gc-pause", &["claims", "ownership", "lease"]);
    }
}

#[test]
fn release_that_denies_its_removal_is_a_false_claim() {
    let expected = ["claims violated false-release"];
    must_show("denied-release", "calm", &expected, "had removed its value");
}

/// Returns the warnings of a passing run, and what the terminal shows of them.
fn warnings_of_a_passing_run(name: &str) -> (Value, String) {
    let run = run(name, "calm", 1);
    let document = run.document();
    for property in ["exclusion", "lease", "claims", "progress"] {
        assert_ne!(
            verdict(&document, property)["status"],
            "violated",
            "{name}, {property}"
        );
    }
    let lock = exec("python3", &project("tests/adapters/peculiar.py"), name);
    let line = format!("scenario calm --impl {lock} --backend process --seed 1 --quiet");
    (document["warnings"].clone(), picklock(&line).run().stdout)
}

#[test]
fn lock_that_throws_when_it_is_taken_gets_a_warning() {
    let (warnings, shown) = warnings_of_a_passing_run("throws-when-taken");
    let warning = &warnings[0];
    assert_eq!(warning["kind"], "failed-without-fault", "{warnings:#}");
    assert_eq!(warning["request"], "acquire");
    assert_eq!(
        warning["first"],
        "'NoneType' object has no attribute 'decode'"
    );
    assert!(
        warning["count"].as_u64() > Some(0) && warning["of"].as_u64() > warning["count"].as_u64()
    );
    assert!(
        shown.contains("acquire requests failed although no fault"),
        "{shown}"
    );
}

#[test]
fn lock_that_throws_at_each_release_gets_a_warning() {
    let (warnings, shown) = warnings_of_a_passing_run("throws-at-release");
    let warning = &warnings[0];
    assert_eq!(warning["request"], "release", "{warnings:#}");
    assert_eq!(warning["first"], "expected bool, got int");
    assert_eq!(warning["count"], warning["of"]);
    assert!(
        shown.contains("release requests failed although no fault"),
        "{shown}"
    );
}

#[test]
fn correct_lock_gets_no_warning() {
    for scenario in ["calm", "gc-pause", "lost-release"] {
        let document = run("correct", scenario, 1).document();
        assert_eq!(document["warnings"], Value::Null, "{scenario}");
    }
}

/// Without grants, a run shows nothing until the limit of its scenario, which is 30 leases of 1 s here.
#[test]
fn lock_that_throws_at_each_acquisition_ends_the_run_early() {
    let document = run("throws-always", "calm", 1).document();
    let story = verdict(&document, "lease")["story"].to_string();
    assert!(story.contains("no client got the lock; "), "{story}");
    assert!(
        story.contains("the first with: 'no such setting'"),
        "{story}"
    );
    let workload_ms = document["phases"]["workload_ms"].as_u64();
    assert!(workload_ms < Some(20_000), "{workload_ms:?}");
}

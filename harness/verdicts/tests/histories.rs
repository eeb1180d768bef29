//! Histories with known verdicts: every history in `histories/*.jsonl` must get the verdicts in
//! `histories/expected.json`. `histories/README.md` gives the reasons.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test that cannot read its own files may fail loudly"
)]

#[path = "histories/once.rs"]
mod once;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use picklock_verdicts::check::{Property, Status, Verdict, Verdicts, judge};
use picklock_verdicts::history::read_history;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories")
}

/// Start of the line with the name of a history, in a file with several histories.
const NAMED: &str = "{\"history\":\"";

/// Returns all histories by name. A file contains one history with the name of the file, or several histories, each
/// after a line with its name.
fn histories() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(directory()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        if !text.starts_with(NAMED) {
            let name = path.file_stem().unwrap().to_str().unwrap();
            all.insert(name.to_owned(), text);
            continue;
        }
        for part in text.split(NAMED).skip(1) {
            let (name, lines) = part.split_once("\"}\n").unwrap();
            let known = all.insert(name.to_owned(), lines.to_owned());
            assert!(known.is_none(), "two histories are called {name}");
        }
    }
    all
}

fn judged(name: &str, text: &str) -> Verdicts {
    judge(&read_history(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}")))
}

fn brief(verdict: &Verdict) -> String {
    match verdict.cause {
        Some(cause) => format!("{}: {cause}", verdict.status),
        None => verdict.status.to_string(),
    }
}

/// The variable that makes the test add the verdicts of a new property to `expected.json`.
const UPDATE: &str = "PICKLOCK_UPDATE_DOCS";

/// The verdicts of each history.
type Expected = BTreeMap<String, BTreeMap<Property, String>>;

/// Adds the verdicts of properties that have no expectation, and changes no other. Returns the text of the file.
fn with_new_properties(mut expected: Expected, histories: &BTreeMap<String, String>) -> String {
    for (name, verdicts) in &mut expected {
        for (property, verdict) in judged(name, &histories[name]).iter() {
            verdicts.entry(*property).or_insert_with(|| brief(verdict));
        }
    }
    let line = |(name, verdicts): (&String, &BTreeMap<Property, String>)| {
        let verdicts = verdicts.iter();
        let verdicts = verdicts.map(|(property, verdict)| format!("\"{property}\": \"{verdict}\""));
        format!(
            "\"{name}\": {{{}}}",
            verdicts.collect::<Vec<_>>().join(", ")
        )
    };
    let lines: Vec<String> = expected.iter().map(line).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

#[test]
fn histories_have_the_expected_verdicts() {
    let histories = histories();
    let names: Vec<&String> = histories.keys().collect();
    assert!(names.len() > 40, "histories are missing: {names:?}");
    let path = directory().join("expected.json");
    let text = fs::read_to_string(&path).unwrap();
    let all: Expected = serde_json::from_str(&text).unwrap();
    let completed = with_new_properties(all.clone(), &histories);
    if text != completed && std::env::var_os(UPDATE).is_some() {
        return fs::write(path, completed).unwrap();
    }
    assert_eq!(all.keys().collect::<Vec<_>>(), names);
    let mut wrong = Vec::new();
    for (name, expected) in all {
        let actual: BTreeMap<Property, String> = judged(&name, &histories[&name])
            .iter()
            .map(|(property, verdict)| (*property, brief(verdict)))
            .collect();
        assert_eq!(
            expected.keys().collect::<Vec<_>>(),
            actual.keys().collect::<Vec<_>>(),
            "{name}: `{UPDATE}=1 cargo test -p picklock-verdicts histories` adds a new property"
        );
        for (property, expected) in &expected {
            let actual = &actual[property];
            if expected != actual {
                wrong.push(format!("{name}: {property}: {actual}, expected {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn stories_match_the_snapshot() {
    let mut text = String::new();
    for (name, history) in histories() {
        for (property, verdict) in judged(&name, &history) {
            if matches!(verdict.status, Status::Violated | Status::Unknown) {
                let count = match verdict.violations {
                    0 => String::new(),
                    count => format!(" ({count})"),
                };
                text += &format!("# {name}: {property} {}{count}\n", brief(&verdict));
                text += &verdict.story.join("\n");
                text += "\n\n";
            }
        }
    }
    insta::assert_snapshot!("stories", text);
}

#[test]
fn readme_names_every_history() {
    let readme = fs::read_to_string(directory().join("README.md")).unwrap();
    let is_named = |name: &&String| readme.contains(&format!("`{name}`"));
    let histories = histories();
    let missing: Vec<_> = histories.keys().filter(|name| !is_named(name)).collect();
    assert!(missing.is_empty(), "not in README.md: {missing:?}");
}

/// Returns a history with additional lines, inserted by their times.
fn with(history: &str, more: &[&str]) -> String {
    let at_ns = |line: &str| -> i64 {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["at_ns"].as_i64().unwrap_or(-1)
    };
    let mut lines: Vec<&str> = history.lines().chain(more.iter().copied()).collect();
    lines.sort_by_key(|line| at_ns(line));
    lines.join("\n")
}

/// Returns the verdict and the cause for one property of a history.
fn verdict_of(history: &str, property: Property) -> String {
    brief(&judged("a history", history)[&property])
}

/// Returns the header of a history with other events.
fn with_events(history: &str, events: &[&str]) -> String {
    with(history.lines().next().unwrap(), events)
}

#[test]
fn renewal_held_up_by_a_delay_is_excused() {
    let histories = histories();
    let lapsed = &histories["promised-and-not-renewed"];
    assert_eq!(
        verdict_of(lapsed, Property::Claims),
        "violated: silent-loss"
    );
    let delay = r#"{"at_ns":100000000,"event":"fault-began","id":0,"fault":"delay","detail":"","workers":[0],"delay_ms":1500}"#;
    let waited = r#"{"at_ns":1100000000,"event":"worker-delayed","worker":0,"since_ns":300000000,"waited_ms":700}"#;
    // A wait for a CPU also leaves open whether the lock would have renewed.
    for (excuse, verdict) in [(delay, "held"), (waited, "unknown")] {
        let excused = with(lapsed, &[excuse]);
        assert_eq!(verdict_of(&excused, Property::Claims), verdict, "{excuse}");
    }
    // Another client waited.
    let other = with(lapsed, &[&waited.replace("\"worker\":0", "\"worker\":1")]);
    assert_eq!(
        verdict_of(&other, Property::Claims),
        "violated: silent-loss"
    );
}

/// Neither the lock nor the client is to blame if the machine alone may be the reason for an expired lease.
#[test]
fn overlap_after_a_delayed_renewal_is_inconclusive() {
    let histories = histories();
    let silent = &histories["short-stall-in-a-long-silence"];
    let waited = r#"{"at_ns":1940000000,"event":"worker-delayed","worker":0,"since_ns":1000000,"waited_ms":2500}"#;
    let delayed = with(silent, &[waited]);
    for property in [Property::Exclusion, Property::Claims] {
        assert_eq!(verdict_of(silent, property), "violated: silent-loss");
        assert_eq!(verdict_of(&delayed, property), "unknown", "{property}");
    }
}

#[test]
fn fault_excuses_nothing_of_the_silence_before_it() {
    let histories = histories();
    let lapsed = &histories["promised-and-not-renewed"];
    let delay = r#"{"at_ns":100000000,"event":"fault-began","id":0,"fault":"delay","detail":"","workers":[0],"delay_ms":1}"#;
    let ended = r#"{"at_ns":150000000,"event":"fault-ended","id":0}"#;
    let skewed = |at_ms: u64| {
        let skew = format!(
            r#"{{"at_ns":{at_ms}000000,"event":"fault-began","id":1,"fault":"clock-skew","detail":"","workers":[0],"clock":{{"by_ns":5000000000}}}}"#
        );
        let history = with(lapsed, &[delay, ended, &skew]);
        verdict_of(&history, Property::Claims)
    };
    assert_eq!(skewed(900), "held");
    assert_eq!(skewed(1190), "violated: silent-loss");
}

#[test]
fn too_long_value_is_no_cause_if_the_rest_of_the_wait_is_long() {
    let histories = histories();
    let waited = &histories["waited-past-a-value-in-doubt"];
    assert_eq!(
        verdict_of(waited, Property::Progress),
        "violated: undetermined"
    );
    let shorter = waited.replace("611", "511").replace("6200", "5200");
    assert_eq!(
        verdict_of(&shorter, Property::Progress),
        "violated: wrong-expiry"
    );
}

#[test]
fn attempt_denied_after_the_bound_may_have_sent_no_command() {
    let histories = histories();
    let waited = &histories["waited-past-a-value-in-doubt"];
    let idle = |worker: u64, op: u64, no_command: bool| {
        format!(
            r#"{{"at_ns":6109000000,"event":"idle-while-waiting","worker":{worker},"op":{op},"from_ns":112000000,"until_ns":6109000000,"no_command":{no_command}}}"#
        )
    };
    let with_idle = |no_command: bool| {
        let history = with(waited, &[&idle(1, 2, true), &idle(0, 3, no_command)]);
        verdict_of(&history, Property::Progress)
    };
    assert_eq!(with_idle(true), "violated: stopped-asking");
    assert_eq!(with_idle(false), "violated: lost-wake-up");
}

#[test]
fn key_other_than_the_lock_may_run_out() {
    let histories = histories();
    let key = |at_ns: u64, key: &str, value: &str, phase: &str, command: &str| {
        format!(
            r#"{{"at_ns":{at_ns},"event":"key-changed","node":0,"key":{key},{value}"why":"command","worker":0,"op":1,"phase":"{phase}","command":"{command}"}}"#
        )
    };
    let stands = r#""value":"t1","ttl_ms":1000,"#;
    let lines = [
        r#"{"at_ns":0,"event":"acquire","worker":0,"op":1,"key":0,"ttl_ms":1000,"wait_ms":3000}"#.to_owned(),
        key(1_000_000, "0", stands, "acquire", "SET"),
        key(1_000_001, r#""lock:item:info""#, stands, "acquire", "SET"),
        r#"{"at_ns":2000000,"event":"granted","worker":0,"op":1,"token":"t1","valid_ms":980,"elapsed_ms":2}"#.to_owned(),
        key(500_000_000, "0", stands, "idle", "PEXPIRE"),
        r#"{"at_ns":1001000001,"event":"key-changed","node":0,"key":"lock:item:info","why":"expired"}"#.to_owned(),
        r#"{"at_ns":1200000000,"event":"release","worker":0,"op":1}"#.to_owned(),
        key(1_201_000_000, "0", "", "release", "EVAL"),
        r#"{"at_ns":1202000000,"event":"released","worker":0,"op":1,"released":true}"#.to_owned(),
        r#"{"at_ns":1302000000,"event":"end","reason":"served","stock_left":[1],"sold":[0]}"#.to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let history = with_events(&histories["promised-and-not-renewed"], &lines);
    // The property is not known to be held, because no two workers competed.
    assert_eq!(verdict_of(&history, Property::Claims), "unknown");
}

#[test]
fn oversold_stock_is_named_if_there_are_several() {
    let histories = histories();
    let alone = &histories["clock-jump"];
    let several = alone.replace("[\"lock:item\"]", "[\"lock:item\", \"lock:other\"]");
    let summary = |history: &str| judged("", history)[&Property::Resource].summary.clone();
    assert_eq!(summary(alone), "one unit was sold twice");
    let named = "one unit of the stock `lock:item` was sold twice";
    assert_eq!(summary(&several), named);
}

#[test]
fn irrelevant_clock_is_not_a_cause() {
    let histories = histories();
    let skewed = &histories["value-overwritten-by-a-wrong-clock"];
    assert_eq!(
        verdict_of(skewed, Property::Exclusion),
        "violated: clock-skew"
    );
    // According to the time in the later value, the earlier lease had not ended yet.
    let right = skewed.replace("1767225606301", "1767225601301");
    assert_eq!(verdict_of(&right, Property::Exclusion), "violated: race");
    // A clock that is behind would see the expiry too late.
    let behind = skewed.replace("5000000000", "-5000000000");
    assert_eq!(verdict_of(&behind, Property::Exclusion), "violated: race");
    let right_again = with(
        skewed,
        &[r#"{"at_ns":500000,"event":"fault-ended","id":1}"#],
    );
    assert_eq!(
        verdict_of(&right_again, Property::Exclusion),
        "violated: race"
    );
}

#[test]
fn extension_longer_than_the_wait_is_a_false_claim() {
    let histories = histories();
    let verdict_for = |elapsed_ms: u64| {
        let extended = format!(
            r#"{{"at_ns":52000000,"event":"extend-granted","worker":0,"op":1,"token":"t1","valid_ms":1000,"elapsed_ms":{elapsed_ms}}}"#
        );
        let extend = r#"{"at_ns":50000000,"event":"extend","worker":0,"op":1,"ttl_ms":1000}"#;
        let prolonged = r#"{"at_ns":51000000,"event":"key-changed","node":0,"key":0,"value":"t1","ttl_ms":1000,"why":"command","worker":0,"op":1,"phase":"extend","command":"EVAL"}"#;
        let honest = histories["elapsed-of-a-minute"].replace("60000", "2");
        let history = with(&honest, &[extend, prolonged, &extended]);
        verdict_of(&history, Property::Claims)
    };
    assert_eq!(verdict_for(2), "held");
    assert_eq!(verdict_for(60_000), "violated: wrong-elapsed");
}

#[test]
fn key_change_by_an_unknown_worker_or_node_is_an_error() {
    let histories = histories();
    let good = &histories["elapsed-of-a-minute"];
    let change = good.lines().find(|line| line.contains("\"SET\"")).unwrap();
    let huge = usize::MAX.to_string();
    for (from, to, problem) in [
        ("\"worker\": 0", format!("\"worker\": {huge}"), "worker"),
        ("\"node\": 0", "\"node\": 1".to_owned(), "node 1"),
    ] {
        let bad = good.replacen(change, &change.replace(from, &to), 1);
        let error = read_history(bad.as_bytes()).unwrap_err().to_string();
        let line = error.contains("line 4") && error.contains(problem);
        assert!(line, "{error}");
    }
}

#[test]
fn headline_of_a_leak_counts_the_permits_that_were_left() {
    let name = "lost-reply-and-a-leaked-permit";
    let verdicts = judged(name, &histories()[name]);
    let summary = &verdicts[&Property::Progress].summary;
    assert!(summary.contains("only 1 of 2 permits"), "{summary}");
}

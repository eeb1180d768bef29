//! Documents, files and exit codes that other programs rely on.

use std::path::Path;

use serde_json::Value;

use crate::running::{Outcome, picklock};

/// Runs a violating scenario, saved in `run`.
fn violated() -> Outcome {
    picklock("scenario gc-pause --impl getset --ttl 300ms --backend process --json --out run")
        .run()
        .exits(1)
}

#[track_caller]
fn has(document: &Value, wanted: &str) {
    let there = document.as_object().unwrap();
    for key in wanted.split(' ') {
        assert!(there.contains_key(key), "no `{key}` in {document:#}");
    }
}

/// Paths in a run's document, with the keys that they must contain.
const KEYS: &[(&str, &str)] = &[
    (
        "",
        "format impl scenario backend seed redis verdicts counts latency faults reproduce",
    ),
    ("/impl", "name version"),
    ("/redis", "server version"),
    (
        "/verdicts",
        "exclusion lease resource ownership fencing progress",
    ),
    ("/verdicts/exclusion", "status cause story"),
    (
        "/counts",
        "granted refused failed extended released sold stock_start stock_left",
    ),
    (
        "/latency/acquire",
        "count p50_us p90_us p99_us p999_us max_us histogram",
    ),
];

#[test]
fn a_run_is_one_document_and_one_directory() {
    let outcome = violated();
    let document = outcome.document();
    for (path, wanted) in KEYS {
        has(document.pointer(path).unwrap(), wanted);
    }
    assert_eq!(document["format"], "picklock-run/1");
    assert!(
        outcome.stdout.trim_start().starts_with("{\n  \"format\""),
        "the format leads"
    );
    assert_eq!(document["verdicts"]["fencing"]["status"], "not-applicable");
    assert!(document["seed"].is_u64());

    assert_eq!(outcome.json_file("run/run.json"), document);
    let here = |name: &str| outcome.home().join("run").join(name);
    let logs = (0..3).map(|worker| format!("worker-{worker}.log"));
    for name in logs.chain(["node-0.log".to_owned()]) {
        assert!(here(&name).is_file(), "no {name}");
    }
    // A line of the key history covers a value from its writing to its end.
    for (name, format, least) in [
        ("history.jsonl", "picklock-history/1", 10),
        ("commands.jsonl", "picklock-proxy/1", 10),
        ("key-history.jsonl", "picklock-key-history/1", 3),
    ] {
        let text = outcome.text_file(&format!("run/{name}"));
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines[0]["format"], format);
        assert!(lines.len() > least, "{name} has {} lines", lines.len());
    }
    assert!(!outcome.text_file("run/node-0.log").is_empty());
    outcome.left_no_directory();
}

#[test]
fn the_times_of_a_history_never_run_backwards() {
    let outcome = violated();
    let text = outcome.text_file("run/history.jsonl");
    let mut latest = 0;
    for line in text.lines().skip(1) {
        let event: Value = serde_json::from_str(line).unwrap();
        let at = event["at_ns"].as_u64().unwrap();
        assert!(at >= latest, "{line} comes after {latest} ns");
        latest = at;
    }
    assert!(latest > 0);
}

#[test]
fn the_command_that_repeats_a_run_repeats_it() {
    let first = violated();
    let command = first.document()["reproduce"].as_str().unwrap().to_owned();
    let again = command.strip_prefix("picklock ").unwrap();
    let second = picklock(&format!("{again} --json")).run().exits(1);
    for key in [
        "seed", "impl", "scenario", "backend", "ttl_ms", "workers", "nodes",
    ] {
        assert_eq!(first.document()[key], second.document()[key], "{command}");
    }
}

/// Runs `picklock check` on a history in the directory of the call.
fn check(history: &str, flags: &str) -> Outcome {
    picklock(&format!("check history.jsonl {flags}"))
        .file("history.jsonl", history)
        .run()
}

#[test]
fn a_history_judged_again_gives_the_same_verdicts() {
    let outcome = violated();
    let history = outcome.text_file("run/history.jsonl");
    let again = check(&history, "--json").exits(1);
    assert_eq!(again.document()["verdicts"], outcome.document()["verdicts"]);
    assert_eq!(again.document()["counts"], outcome.document()["counts"]);
    let text = check(&history, "").exits(1);
    let cause = &outcome.document()["verdicts"]["exclusion"]["cause"];
    let cause = cause.as_str().unwrap();
    assert!(text.stdout.contains(cause), "{}", text.all());
}

#[test]
fn a_torn_history_is_refused_with_its_line() {
    let history = violated().text_file("run/history.jsonl");
    let lines: Vec<&str> = history.lines().collect();
    let mut torn = lines[..7].join("\n");
    torn.truncate(torn.len() - 9);
    let outcome = check(&torn, "").exits(2);
    assert!(
        outcome.stderr.contains("history.jsonl"),
        "{}",
        outcome.all()
    );
    assert!(outcome.stderr.contains("line 7"), "{}", outcome.all());
    assert_eq!(outcome.stdout, "");
}

#[test]
fn truncated_history_is_rejected_or_unknown_but_never_held() {
    let outcome =
        picklock("scenario calm --impl set-nx-px --ttl 300ms --backend process --json --out run")
            .run()
            .exits(0);
    let history = outcome.text_file("run/history.jsonl");
    let lines: Vec<&str> = history.lines().collect();
    let cut = format!("{}\n", lines[..lines.len() / 2].join("\n"));
    let outcome = check(&cut, "--json");
    assert!(matches!(outcome.code, Some(2 | 3)), "{}", outcome.all());
}

#[test]
fn lists_are_documents_too() {
    let outcome = picklock("list --json").run().exits(0);
    let text = outcome.document().to_string();
    for name in [
        "redlock",
        "set-nx-px",
        "gc-pause",
        "calm",
        "process",
        "docker",
    ] {
        assert!(text.contains(&format!("\"{name}\"")), "no {name} in {text}");
    }
    for (what, has, has_not) in [
        ("impls", "redlock", "gc-pause"),
        ("scenarios", "gc-pause", "redlock"),
        ("backends", "docker", "gc-pause"),
    ] {
        let outcome = picklock(&format!("list {what} --json")).run().exits(0);
        let names = outcome.document().to_string();
        assert!(names.contains(&format!("\"{has}\"")), "{names}");
        assert!(!names.contains(&format!("\"{has_not}\"")), "{names}");
    }
}

#[test]
fn a_pipe_gets_no_escape_codes() {
    let line = "scenario calm --impl set-nx-px --ttl 300ms --backend process";
    let piped = picklock(line).run().exits(0);
    let without = picklock(line).env("NO_COLOR", "1").run().exits(0);
    for outcome in [piped, without] {
        assert!(!outcome.stdout.contains('\x1b'), "{}", outcome.stdout);
        assert!(!outcome.stderr.contains('\x1b'), "{}", outcome.stderr);
    }
    let coloured = picklock(line).env("CLICOLOR_FORCE", "1").run().exits(0);
    assert!(coloured.stdout.contains('\x1b'), "the test can fail");
}

#[test]
fn the_first_line_says_which_backend_and_why() {
    let line = "scenario calm --impl set-nx-px --ttl 300ms --seed 5 --backend process";
    let text = picklock(line).run().exits(0);
    let first = text.stdout.lines().next().unwrap();
    assert!(first.starts_with("backend process (requested;"), "{first}");
    assert!(first.ends_with("seed 5"), "{first}");
    let quiet = picklock(&format!("{line} --quiet --json")).run().exits(0);
    assert_eq!(quiet.document()["seed"], 5);
}

/// A single worker never competes, which is too little to judge.
#[test]
fn too_little_to_judge_is_inconclusive() {
    let line = "scenario calm --impl set-nx-px --ttl 300ms --workers 1 --backend process --json";
    let outcome = picklock(line).run().exits(3);
    assert_eq!(
        outcome.document()["verdicts"]["exclusion"]["status"],
        "unknown"
    );
}

#[test]
fn a_violation_wins_over_what_could_not_be_decided() {
    // The second fault never fires, which leaves verdicts open; the first proves a violation.
    let scenario = r#"
name = "two-faults"
summary = "One fault strikes, one never does."
[workload]
ttl = "300ms"
stock = 2
section = "0.8ttl"
[[fault]]
kind = "pause-client"
when = { on = "stock-read", stock = 1 }
for = "1.5ttl"
[[fault]]
kind = "pause-client"
when = { on = "stock-read", stock = 77 }
for = "1.5ttl"
"#;
    let outcome = picklock("scenario two.toml --impl set-nx-px --backend process --json")
        .file("two.toml", scenario)
        .run()
        .exits(1);
    let document = outcome.document();
    let statuses: Vec<&str> = document["verdicts"]
        .as_object()
        .unwrap()
        .values()
        .map(|verdict| verdict["status"].as_str().unwrap())
        .collect();
    assert!(statuses.contains(&"unknown"), "{statuses:?}");
    assert!(statuses.contains(&"violated"), "{statuses:?}");
}

#[test]
fn a_directory_with_a_run_is_left_alone() {
    let outcome = violated();
    let run = outcome.home().join("run");
    let before = std::fs::read(run.join("run.json")).unwrap();
    let out = shell_words::quote(Path::to_str(&run).unwrap()).into_owned();
    let again = picklock(&format!(
        "scenario calm --impl set-nx-px --backend process --out {out}"
    ));
    let again = again.run().exits(2);
    assert!(
        again.stderr.contains("it already contains a run"),
        "{}",
        again.all()
    );
    assert_eq!(std::fs::read(run.join("run.json")).unwrap(), before);
}

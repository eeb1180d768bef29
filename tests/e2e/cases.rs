//! Scenarios that once gave wrong verdicts, with the right ones, in the simulation and on processes.
//!
//! Each is one line of the table: the file, the lock with its options, and the verdicts. The folders in `tests/cases`
//! have their own tables, in their `run.py`.

use std::path::Path;

use serde_json::Value;

use crate::running::picklock;

/// A case: file, lock, and `property status cause` for each verdict that matters.
type Case = (&'static str, &'static str, &'static [&'static str]);

/// The cases that every backend can run.
const CASES: &[Case] = &[
    (
        "dead-node",
        "set-nx-px",
        &["progress unknown", "exclusion held", "lease held"],
    ),
    (
        "half-frozen-client",
        "set-nx-px --seed 2",
        &["progress held"],
    ),
    (
        "half-frozen",
        "set-nx-px --nodes 2 --seed 2",
        &["progress held"],
    ),
    ("fence-dup", "fenced", &["fencing violated evicted"]),
    (
        "fence-dup-write",
        "fenced",
        &["fencing violated evicted", "resource violated evicted"],
    ),
    (
        "zero-hold",
        "set-nx-px",
        &["exclusion violated outlived-lease"],
    ),
    (
        "zero-hold",
        "redlock",
        &["exclusion violated outlived-lease"],
    ),
    (
        "zero-hold",
        "setnx-lua",
        &["exclusion violated outlived-lease"],
    ),
    (
        "evict-late",
        "watchdog",
        &["exclusion violated evicted", "lease violated evicted"],
    ),
    (
        "skew-blame",
        "set-nx-px",
        &["exclusion violated evicted", "lease violated evicted"],
    ),
    (
        "jump-back",
        "set-nx-px",
        &["exclusion violated clock-jump", "lease violated clock-jump"],
    ),
    // Frozen before it reads a request: the lease begins only when the request is read.
    (
        "frozen-ask",
        "set-nx-px",
        &["exclusion violated evicted", "lease violated evicted"],
    ),
    // A command is due less than a millisecond before the clock jumps forward.
    (
        "jump-back",
        "set-nx-px --seed 15",
        &["exclusion violated clock-jump", "lease violated clock-jump"],
    ),
    (
        "wrong-key",
        "set-nx-px",
        &["exclusion violated clock-jump", "lease violated clock-jump"],
    ),
    // Two grants on different nodes, for which no clock is to blame.
    (
        "back-only",
        "redlock-no-quorum",
        &["exclusion violated unbacked-grant"],
    ),
];

fn path(case: &str) -> String {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/cases");
    cases.join(format!("{case}.toml")).display().to_string()
}

/// Runs a case with five seeds, and returns the differences. In the simulation all runs must give the expected
/// verdicts. On servers it is random whether two clients meet, so one run is enough.
pub fn differences(case: &str, lock: &str, backend: &str, expected: &[&str]) -> Vec<String> {
    let mut wrong = Vec::new();
    for seed in 1..=5 {
        // A case that depends on one seed specifies it.
        let seed = if lock.contains("--seed") {
            String::new()
        } else {
            format!(" --seed {seed}")
        };
        let line = format!(
            "scenario {} --impl {lock}{seed} --backend {backend} --json",
            path(case)
        );
        wrong = differences_once(&line, expected);
        if wrong.is_empty() != (backend == "sim") {
            break;
        }
    }
    wrong
}

fn differences_once(line: &str, expected: &[&str]) -> Vec<String> {
    let document: Value = picklock(line).run().document();
    let mut wrong = Vec::new();
    for expected in expected {
        let mut words = expected.split(' ');
        let property = words.next().unwrap_or_default();
        let verdict = &document["verdicts"][property];
        let cause = verdict["cause"].as_str();
        let status = verdict["status"].as_str();
        if (status, cause) != (words.next(), words.next()) {
            wrong.push(format!("{line}: {expected}, but {verdict:#}"));
        }
    }
    wrong
}

/// Checks all cases in one backend.
pub fn all_come_out(backend: &str) {
    let runs = std::thread::scope(|scope| {
        let runs: Vec<_> = CASES
            .iter()
            .map(|(case, lock, expected)| {
                scope.spawn(move || differences(case, lock, backend, expected))
            })
            .collect();
        runs.into_iter()
            .flat_map(|run| run.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert!(runs.is_empty(), "{}", runs.join("\n"));
}

#[test]
fn past_wrong_verdicts_are_right_in_the_simulation() {
    all_come_out("sim");
}

/// The lock of the probe after the run belongs to no worker, and its messages are not recorded.
#[test]
fn a_history_whose_probe_lost_its_lease_can_be_read_again() {
    let line = format!(
        "scenario {} --impl watchdog-outlives-unlock --backend sim --seed 8 --out run",
        path("probe-lost")
    );
    let kept = picklock(&line).run();
    let history = kept.home().join("run/history.jsonl");
    let checked = picklock(&format!("check {}", history.display())).run();
    assert!(
        matches!(checked.code, Some(0 | 1 | 3)),
        "{}",
        checked.stderr
    );
}

/// Runs these cases of a folder in `tests/cases` with its `run.py`, which contains the expected verdicts.
pub fn run_folder(folder: &str, cases: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cases/{folder}/run.py"));
    let mut command = std::process::Command::new("python3");
    command.arg(script).arg(env!("CARGO_BIN_EXE_picklock"));
    let output = command.args(cases).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{stderr}");
    let right = stdout.lines().filter(|line| line.starts_with("right"));
    assert_eq!(right.count(), cases.len(), "{stdout}");
}

/// Evidence behind verdicts: which try counts, when a lease begins, what a stall excuses, and what proves a cause.
#[test]
fn verdict_cases_are_right_in_the_simulation() {
    let cases = [
        "frozen-twice",
        "frozen-then-late",
        "frozen-first",
        "same-tokens",
        "skewed-and-frozen",
        "late-extension-reply",
        "frozen-node",
        "never-written",
        "abandoned-attempt",
        "late-second-release",
        "one-stall",
    ];
    run_folder("verdicts", &cases);
}

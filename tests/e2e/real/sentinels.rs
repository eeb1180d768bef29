//! Failovers that real Sentinels decide.

use serde_json::Value;

use rustix::process::{Pid, Signal, kill_process};

use super::is_long;
use super::leftovers::becomes;
use super::proc_table::started_by;
use super::verdicts::as_expected;
use crate::running::{Outcome, picklock};

/// A sale with Sentinels and without faults.
const WATCHED_SALE: &str = r#"
name = "watched-sale"
summary = "Sentinels watch a sale in which no fault strikes."
backends = ["process", "docker"]

[topology]
replicas = 1
sentinels = 3

[workload]
workers = 3
stock = 30
ttl = "2s"
section = "0.1ttl"
wait = "2ttl"
limit = "60s"
"#;

/// Returns the faults in a run's history, as (begun?, fault, detail or number).
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

/// Runs every lock; the history records who decided each failover, and in which order.
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

/// The longer tier adds containers.
#[test]
fn stale_master_is_caught() {
    as_expected("stale-master", "process");
    if is_long() {
        as_expected("stale-master", "docker");
    }
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

/// Simulates a busy machine that stalls the master until the Sentinels consider it dead.
fn sale_with_a_frozen_master() -> Outcome {
    let line =
        "scenario watched-sale.toml --impl set-nx-px --backend process --json --no-rerun --out run";
    let call = picklock(line).file("watched-sale.toml", WATCHED_SALE);
    let mut run = call.start();
    run.hear("got the lock");
    let folder_of = |pid| std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    let mut started = started_by(run.pid()).into_iter();
    let master = started.find(|process| folder_of(process.pid).ends_with("node-0"));
    let master = master.expect("a run on processes has a master").pid;
    let log = folder_of(master).with_file_name("sentinel-0.log");
    let pid = Pid::from_raw(i32::try_from(master).unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    becomes("a failover, or an election that came to nothing", || {
        let said = std::fs::read_to_string(&log).map_err(|error| error.to_string())?;
        let ended = ["+switch-master", "-failover-abort"];
        let has_ended = ended.iter().any(|word| said.contains(word));
        has_ended.then_some(()).ok_or(said)
    });
    kill_process(pid, Signal::CONT).unwrap();
    run.finish()
}

#[test]
fn unrequested_failover_is_reported_and_nothing_is_judged() {
    let mut sales = std::iter::repeat_with(sale_with_a_frozen_master).take(3);
    let told = r#""event":"unrequested-failover","node":0"#;
    let is_told = |sale: &Outcome| sale.text_file("run/history.jsonl").contains(told);
    let sale = sales.find(is_told).expect("a failover is told");
    assert_eq!(sale.code, Some(3), "{}", sale.all());
    for (property, verdict) in sale.document()["verdicts"].as_object().unwrap() {
        assert_eq!(verdict["status"], "unknown", "{property}: {}", sale.all());
        let story = verdict["story"].to_string();
        let said = "the Sentinels failed over node 0 without a fault";
        assert!(story.contains(said), "{property}: {story}");
    }
}

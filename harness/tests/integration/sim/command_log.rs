//! The command log of a simulated run is deterministic, does not affect the history, and correctly records which frames
//! arrived.

use std::collections::HashMap;

use picklock_harness::check::judge;
use picklock_harness::history::{EventKind, History, KeyChange};
use picklock_harness::proxy::{CommandLog, FORMAT, FrameOutcome, LogEntry};
use picklock_harness::sim::{LockFactory, Simulation, run};
use picklock_impls::find;
use picklock_scenarios::{Direction, Phase, catalog};

use super::determinism::bytes;
use super::{simulate, simulation};

fn logged(scenario: &str, lock: &LockFactory, seed: u64) -> (History, CommandLog) {
    let simulation = Simulation {
        logs_commands: true,
        ..simulation(catalog::named(scenario).unwrap(), lock, seed)
    };
    let result = run(simulation).unwrap();
    (result.history, result.command_log.unwrap())
}

fn text(log: &CommandLog) -> String {
    let mut bytes = Vec::new();
    log.write(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn lock(name: &str) -> LockFactory {
    LockFactory::built_in(find(name).unwrap())
}

#[test]
fn command_log_is_deterministic_and_without_side_effects() {
    let everywhere = catalog::names().map(|scenario| (scenario, "set-nx-px"));
    // These scenarios add more nodes, transactions, replicas, and each kind of broken connection.
    let harder = ["node-restart", "partition-holder", "master-failover"]
        .map(|scenario| ["redlock", "lock-take", "replicated"].map(|name| (scenario, name)));
    for (scenario, name) in everywhere.chain(harder.into_iter().flatten()) {
        let lock = lock(name);
        let (history, log) = logged(scenario, &lock, 7);
        let (_, again) = logged(scenario, &lock, 7);
        assert!(text(&log) == text(&again), "{name} × {scenario}");
        let without = simulate(scenario, &lock, 7);
        assert!(bytes(&history) == bytes(&without), "{name} × {scenario}");
    }
}

/// Before its grant, every attempt has sent a command with the lock's key and received a reply.
#[test]
fn every_grant_has_its_commands_in_the_log() {
    let (history, log) = logged("flash-sale-20", &lock("set-nx-px"), 3);
    let text = text(&log);
    assert!(text.starts_with(&format!("{{\"format\":\"{FORMAT}\"")));
    let mut answered: HashMap<u64, u64> = HashMap::new();
    let entries = log.entries();
    assert!(entries.is_sorted_by_key(|entry| entry.at_ns));
    let acquire_entries = entries
        .iter()
        .filter(|entry| entry.phase == Phase::Acquire && entry.names_key == Some(0));
    for entry in acquire_entries {
        assert!(entry.sent_ns.unwrap() > entry.at_ns, "{entry:?}");
        if entry.direction == Direction::Reply && entry.preview == "+OK" {
            answered.insert(entry.op, entry.sent_ns.unwrap());
        }
    }
    let mut grants = 0;
    for event in &history.events {
        if let EventKind::Granted { op, .. } = event.what {
            let answered_ns = answered[&op];
            assert!(answered_ns <= event.at_ns, "attempt {op}");
            grants += 1;
        }
    }
    assert!(grants > 10, "{grants}");
}

/// Returns the outcomes of the relevant entries, and whether each frame arrived.
fn outcomes(
    entries: &[LogEntry],
    is_relevant: impl Fn(&LogEntry) -> bool,
) -> Vec<(FrameOutcome, bool)> {
    let entries = entries.iter().filter(|entry| is_relevant(entry));
    entries
        .map(|entry| (entry.outcome, entry.sent_ns.is_some()))
        .collect()
}

#[test]
fn frames_have_the_outcome_that_faults_caused() {
    let (_, log) = logged("lost-reply", &lock("set-nx-px"), 3);
    let first_reply = |entry: &LogEntry| entry.direction == Direction::Reply && entry.op == 1;
    let first = outcomes(&log.entries(), first_reply);
    assert_eq!(first[0], (FrameOutcome::Dropped, false));

    let (history, log) = logged("network-delay", &lock("set-nx-px"), 3);
    let began =
        |what: &EventKind| matches!(what, EventKind::FaultBegan { fault, .. } if fault == "delay");
    assert!(history.events.iter().any(|event| began(&event.what)));
    let late = |entry: &LogEntry| entry.outcome == FrameOutcome::Delayed;
    let waited = |entry: &&LogEntry| entry.sent_ns.unwrap_or(0) - entry.at_ns > 250_000;
    let entries = log.entries();
    assert!(
        entries
            .iter()
            .filter(|entry| late(entry))
            .all(|entry| waited(&entry))
    );
    assert!(entries.iter().any(late));

    let (_, log) = logged("node-restart", &lock("set-nx-px"), 3);
    let lost = |entry: &LogEntry| entry.outcome == FrameOutcome::Unreachable;
    let lost = outcomes(&log.entries(), lost);
    assert!(
        !lost.is_empty() && lost.iter().all(|(_, sent)| !sent),
        "{lost:?}"
    );

    let (_, log) = logged("partition-holder", &lock("set-nx-px"), 3);
    let apart = |entry: &LogEntry| matches!(entry.outcome, FrameOutcome::Cut | FrameOutcome::Held);
    assert!(!outcomes(&log.entries(), apart).is_empty());
}

/// Compares the sizes with those of redis-rs's own encoder.
#[test]
fn command_size_is_its_encoded_size() {
    let (_, log) = logged("calm", &lock("redlock"), 3);
    let entries = log.entries();
    let sets = entries.iter().filter(|entry| entry.command == "SET");
    let mut seen = 0;
    for set in sets.filter(|entry| entry.direction == Direction::Request) {
        let mut command = redis::Cmd::new();
        set.preview.split(' ').for_each(|word| {
            command.arg(word);
        });
        assert_eq!(
            set.size as usize,
            command.get_packed_command().len(),
            "{set:?}"
        );
        seen += 1;
    }
    assert!(seen > 5, "{seen}");
}

/// The history contains the time at which a delayed command was sent, and the story mentions this time.
#[test]
fn change_by_a_late_command_has_its_sending_time() {
    let history = simulate("late-release", &lock("release-without-token"), 3);
    let mut late = history.events.iter().filter_map(|event| match &event.what {
        EventKind::KeyChanged {
            why: KeyChange::Command(by),
            ..
        } => Some((event.at_ns, by.sent_ns?)),
        _ => None,
    });
    let (at_ns, sent_ns) = late.next().unwrap();
    assert!(at_ns - sent_ns >= 10_000_000, "{sent_ns} {at_ns}");
    let verdicts = judge(&history);
    let stories = verdicts.values().flat_map(|verdict| &verdict.story);
    let delayed: Vec<&String> = stories
        .filter(|line| line.contains("(held back by"))
        .collect();
    assert!(!delayed.is_empty(), "{verdicts:#?}");
}

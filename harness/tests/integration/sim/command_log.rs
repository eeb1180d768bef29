//! The command log of a simulated run: the same bytes for the same seed, at no cost to the history,
//! and the truth about what arrived.

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
fn the_log_repeats_to_the_byte_and_the_history_does_not_know_of_it() {
    let everywhere = catalog::names().map(|scenario| (scenario, "set-nx-px"));
    // More nodes, transactions, replicas; broken connections of each kind.
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

/// Every attempt that was granted has asked for the lock by its key before, and was answered.
#[test]
fn every_grant_has_its_commands_in_the_log() {
    let (history, log) = logged("flash-sale-20", &lock("set-nx-px"), 3);
    let text = text(&log);
    assert!(text.starts_with(&format!("{{\"format\":\"{FORMAT}\"")));
    let mut answered: HashMap<u64, u64> = HashMap::new();
    let entries = log.entries();
    assert!(entries.is_sorted_by_key(|entry| entry.at_ns));
    let of_acquiring = entries
        .iter()
        .filter(|entry| entry.phase == Phase::Acquire && entry.names_key == Some(0));
    for entry in of_acquiring {
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

/// What came out of the entries that a test is about, in words.
fn outcomes(entries: &[LogEntry], of: impl Fn(&LogEntry) -> bool) -> Vec<(FrameOutcome, bool)> {
    let entries = entries.iter().filter(|entry| of(entry));
    entries
        .map(|entry| (entry.outcome, entry.sent_ns.is_some()))
        .collect()
}

#[test]
fn what_was_swallowed_held_late_or_unreachable_is_called_so() {
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

/// The numbers are those of the protocol's own writer.
#[test]
fn the_size_of_a_command_is_what_a_client_would_send() {
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

/// What a fault has held back says in the history when it was sent, and the story tells it.
#[test]
fn key_that_a_late_command_changed_says_when_the_command_was_sent() {
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
    let told: Vec<&String> = stories
        .filter(|line| line.contains("(held back by"))
        .collect();
    assert!(!told.is_empty(), "{verdicts:#?}");
}

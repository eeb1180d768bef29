//! `picklock adapter check`: adapters that follow the protocol pass, and the faults of others are named correctly.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::Mutex;

use serde_json::Value;

use super::adapters::{project, python_with_redis};
use super::is_long;
use crate::running::{Outcome, picklock};

/// Checks the adapter with this command.
fn check(command: &str, options: &str) -> Outcome {
    let command = shell_words::quote(command).into_owned();
    picklock(&format!("adapter check {command} {options}")).run()
}

/// Returns the command of an adapter of this project.
fn python(interpreter: &str, script: &str, arguments: &str) -> String {
    let script = project(script);
    let script = shell_words::quote(script.to_str().unwrap()).into_owned();
    format!("{interpreter} {script} {arguments}")
        .trim()
        .to_owned()
}

fn broken(mode: &str) -> String {
    python("python3", "tests/adapters/broken/adapter.py", mode)
}

/// Returns the names of the failed checks, each with its message.
fn failed(document: &Value) -> Vec<(String, String)> {
    let checks = document["checks"].as_array().unwrap().iter();
    let failed = checks.filter(|check| check["status"] == "failed");
    failed
        .map(|check| {
            let word = |field: &str| check[field].as_str().unwrap_or_default().to_owned();
            let said = format!("{} | {} | {}", word("detail"), word("line"), word("doc"));
            (word("check"), said)
        })
        .collect()
}

/// Runs `work` on every item, a few at a time, because each check mostly waits.
fn each<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    let next = Mutex::new(items.iter());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let item = next.lock().unwrap().next();
                    match item {
                        Some(item) => work(item),
                        None => return,
                    }
                }
            });
        }
    });
}

#[test]
fn adapters_that_keep_the_protocol_pass() {
    let redis = python_with_redis();
    let own = env!("CARGO_BIN_EXE_picklock");
    let commands = [
        python(&redis, "adapters/python/redis_py_lock.py", ""),
        python(&redis, "tests/adapters/watchdog.py", ""),
        python("python3", "tests/adapters/looks_first.py", ""),
        python(
            "python3",
            "tests/adapters/looks_first.py",
            "prefix=lock: silent",
        ),
        python("python3", "tests/adapters/looks_first.py", "two-steps"),
        python("python3", "tests/adapters/quiet_watchdog.py", ""),
        broken("correct"),
        format!("{own} worker --impl set-nx-px"),
        format!("{own} worker --impl watchdog"),
        format!("{own} worker --impl redlock-renewing"),
        format!("{own} worker --impl fenced"),
        format!("{own} worker --impl reentrant"),
        python(&redis, "adapters/python/redis_py_asyncio_lock.py", ""),
        python("python3", "adapters/python/my_lock.py", ""),
    ];
    each(&commands, |command| {
        let outcome = check(command, "--json").exits(0);
        let document = outcome.document();
        assert_eq!(document["passed"], true, "{command}: {document:#}");
        outcome.left_no_directory();
    });
}

/// Each mode of the broken adapter, the check that must fail, and the expected words.
const FAULTS: &[(&str, &str, &[&str])] = &[
    (
        "banner",
        "handshake",
        &["log to standard error", "Connected to Redis!", "#lines"],
    ),
    (
        "log-line",
        "grant",
        &["log to standard error", "INFO got the lock"],
    ),
    ("list", "handshake", &["not an object"]),
    ("no-kind", "handshake", &["neither `reply` nor `event`"]),
    ("unknown-reply", "handshake", &["\"ok\"", "`ready`"]),
    ("no-id", "handshake", &["`ready` without `id`"]),
    (
        "text-id",
        "handshake",
        &["`id` = \"1\"", "non-negative integer"],
    ),
    ("small-id", "ids", &["answered with `id` 5"]),
    (
        "own-id",
        "handshake",
        &["answered with `id` 101", "the request has `id` 1"],
    ),
    ("twice", "ping", &["a second time"]),
    (
        "wrong-answer",
        "grant",
        &["answered `release` with `pong`", "#release"],
    ),
    (
        "no-token",
        "grant",
        &["`granted` without `token`", "#granted"],
    ),
    ("number-token", "grant", &["`token` = 4711", "a string"]),
    ("float-valid", "grant", &["`valid_ms` = 998.5"]),
    ("long-valid", "lease", &["`valid_ms` is 60000"]),
    ("long-elapsed", "lease", &["`elapsed_ms` is 3600000"]),
    ("no-released", "grant", &["`released` without `released`"]),
    (
        "text-released",
        "grant",
        &["\"yes\"", "true, false or null"],
    ),
    (
        "no-definite",
        "unknown-words",
        &["`error` without `definite`"],
    ),
    ("silent", "grant", &["did not answer `acquire`"]),
    ("half-line", "handshake", &["incomplete line", "flush"]),
    (
        "exits",
        "grant",
        &["ended before it answered `acquire`: exited with status 3"],
    ),
    (
        "exits-at-once",
        "handshake",
        &["ended before it answered `init`: exited with status 1"],
    ),
    // Every check ends with a `ping`, including the first.
    (
        "no-ping",
        "handshake",
        &["answered `ping` with `error`", "#ping"],
    ),
    (
        "seconds",
        "lease",
        &["is it interpreted as seconds?", "#leases"],
    ),
    ("short-lease", "lease", &["had an expiry of at most"]),
    (
        "always-grants",
        "refusal",
        &["to a second client while the first one held it"],
    ),
    ("error-refusal", "refusal", &["expected `refused`"]),
    (
        "waits-for-ever",
        "wait",
        &["although `wait_ms` was 300", "#waiting"],
    ),
    (
        "one-key",
        "key",
        &["two locks share a key", "`the-lock`", "#keys"],
    ),
    ("no-server", "key", &["wrote no key to the server"]),
    (
        "wrong-server",
        "grant",
        &["nothing has connected to the server", "#servers"],
    ),
    ("keeps-key", "release", &["the next client was refused"]),
    (
        "false-release",
        "release",
        &["no longer held, but the lease had not ended"],
    ),
    ("boasts", "double-release", &["nothing was held"]),
    ("extends-nothing", "extend", &["the key was not extended"]),
    (
        "refuses-extension",
        "extend",
        &["although the lease was running"],
    ),
    ("same-fence", "fence", &["it must grow"]),
    ("stranger-lost", "grant", &["never granted", "#events"]),
    (
        "false-lost",
        "release",
        &["whose lease had not ended", "#events"],
    ),
    ("strict", "unknown-words", &["answered `ping` with `error`"]),
    (
        "yes-man",
        "unknown-words",
        &["expected `error`", "#versions"],
    ),
    (
        "echo",
        "garbage",
        &["log to standard error", "what do you mean?"],
    ),
    ("sure", "time-out", &["the key was there", "#time-outs"]),
    (
        "patient",
        "time-out",
        &["did not answer `acquire`", "#time-outs"],
    ),
    (
        "ignores-sigterm",
        "sigterm",
        &["did not exit within 3 s after SIGTERM", "#the-end"],
    ),
    (
        "frees-at-sigterm",
        "sigterm",
        &["the lock of the other client was gone"],
    ),
    ("stays", "end", &["did not exit within 3 s", "#the-end"]),
    (
        "status",
        "end",
        &["exited with status 3", "expected status 0"],
    ),
    ("orphan", "end", &["left processes behind: python3"]),
    (
        "one-by-one",
        "clients",
        &["serve the clients of a process concurrently", "#version-2"],
    ),
    (
        "no-join",
        "clients",
        &["answered `join` with `error`: unknown op join"],
    ),
    (
        "deaf",
        "cancel",
        &["that was cancelled was never answered", "#cancel"],
    ),
    (
        "short-block",
        "block",
        &["`block` was requested for 300 ms", "#block"],
    ),
    ("cannot-block", "block", &["answered `block` with `error`"]),
    (
        "keeps-failed",
        "section-failed",
        &["the next client was refused", "#section-failed"],
    ),
    (
        "not-reentrant",
        "reentrant",
        &["of the holder with `refused`", "#re-entrant-locks"],
    ),
    (
        "inner-frees",
        "reentrant",
        &["after the holder's inner `release`"],
    ),
    (
        "long-permit",
        "permit-lease",
        &[
            "after its holder had died, it answered with `refused`",
            "#permits",
        ],
    ),
];

/// Tests one mode for each check, and all of them in the longer tier.
#[test]
fn the_fault_of_a_broken_adapter_is_named() {
    let mut seen = BTreeSet::new();
    let wanted = FAULTS
        .iter()
        .filter(|(_, name, _)| is_long() || seen.insert(*name));
    let wanted: Vec<_> = wanted.collect();
    each(&wanted, |(mode, name, words)| {
        let outcome = check(&broken(mode), "--json").exits(1);
        let document = outcome.document();
        let failed = failed(&document);
        let said = failed.iter().find(|(check, _)| check == name);
        let Some((_, said)) = said else {
            panic!("{mode}: `{name}` did not fail: {failed:#?}");
        };
        for word in *words {
            assert!(said.contains(word), "{mode}: no `{word}` in {said}");
        }
        outcome.left_no_directory();
    });
}

#[test]
fn events_without_an_end_are_no_answer() {
    let command = python("python3", "tests/adapters/flood.py", "events");
    let outcome = check(&command, "--json").exits(1);
    let failed = failed(&outcome.document());
    let grant = failed.iter().find(|(check, _)| check == "grant");
    let words = "it wrote more than 20000 events";
    assert!(
        grant.is_some_and(|(_, said)| said.contains(words)),
        "{failed:#?}"
    );
    outcome.left_no_directory();
}

#[test]
fn a_connection_to_another_server_is_seen() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let outcome = check(&broken(&format!("other-server {port}")), "--json").exits(1);
    let failed = failed(&outcome.document());
    assert_eq!(failed.len(), 1, "{failed:#?}");
    assert_eq!(failed[0].0, "servers");
    assert!(
        failed[0].1.contains(&format!("127.0.0.1:{port}")),
        "{failed:?}"
    );
}

/// A program that cannot be started is not the adapter's fault, and the message contains advice.
#[test]
fn program_that_cannot_start_is_reported() {
    let not_executable = project("README.md").display().to_string();
    for (command, words) in [
        ("no-such-adapter", "a program on PATH"),
        (&not_executable, "chmod +x"),
    ] {
        let outcome = check(command, "").exits(4);
        assert!(outcome.stderr.contains(command), "{}", outcome.all());
        assert!(outcome.stderr.contains(words), "{}", outcome.all());
        outcome.left_no_directory();
    }
}

/// A run reports the same fault as the check, immediately: it does not wait for an answer that cannot arrive.
#[test]
fn a_run_names_the_fault_with_the_same_words() {
    for (mode, words) in [
        ("banner", "log to standard error: Connected to Redis!"),
        ("no-id", "it wrote `ready` without `id`"),
    ] {
        let line = format!(
            "scenario calm --impl {} --backend process --quiet",
            shell_words::quote(&format!("exec:{}", broken(mode)))
        );
        let outcome = picklock(&line).run().exits(4);
        assert!(
            outcome.stderr.contains(" broke the adapter protocol"),
            "{}",
            outcome.all()
        );
        assert!(outcome.stderr.contains(words), "{}", outcome.all());
        assert!(!outcome.stderr.contains("probe"), "{}", outcome.all());
    }
    for (mode, words) in [
        ("no-token", "it wrote `granted` without `token`"),
        ("wrong-answer", "it answered `release` with `pong`"),
        (
            "no-ping",
            "it answered `ping` with `error`; expected `pong`",
        ),
    ] {
        let line = format!(
            "scenario calm --impl {} --backend process --json",
            shell_words::quote(&format!("exec:{}", broken(mode)))
        );
        let outcome = picklock(&line).run().exits(3);
        let document = outcome.document();
        let trouble = document["trouble"].to_string();
        // Which of them comes first is random, and the run ends when one client is left.
        assert!(trouble.contains(" broke the adapter protocol"), "{trouble}");
        assert!(trouble.contains(words), "{mode}: no `{words}` in {trouble}");
        assert!(!document.to_string().contains("probe"), "{document:#}");
        // All workers were stopped because of it. Waiting for one of them would end with `limit`.
        assert_eq!(
            document["verdicts"]["exclusion"]["status"], "unknown",
            "{document:#}"
        );
    }
}

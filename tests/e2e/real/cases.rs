//! The cases that once gave wrong verdicts, on processes.

use std::process::Command;

use super::adapters::{exec, project, python_with_redis};
use super::is_long;
use crate::cases::{all_come_out, differences, run_folder};
use crate::running::picklock;

#[test]
fn past_wrong_verdicts_are_right_on_processes() {
    all_come_out("process");
}

/// A correct watchdog that omits `elapsed_ms`: an eviction is not the client's fault.
#[test]
fn adapter_without_elapsed_ms_is_not_blamed_for_an_eviction() {
    let script = project("tests/adapters/quiet_watchdog.py");
    let lock = exec(&python_with_redis(), &script, "");
    let expected = ["exclusion violated evicted", "lease violated evicted"];
    let wrong = differences("evict-late", &lock, "process", &expected);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs these cases of a folder, or all cases if none are named: once, or three times in the longer tier, several at a
/// time.
#[track_caller]
fn cases_are_right(folder: &str, cases: &[&str]) {
    let outcome = Command::new("python3")
        .arg(project(&format!("tests/cases/{folder}/run.py")))
        .arg(env!("CARGO_BIN_EXE_picklock"))
        .args(cases)
        .envs([("SEEDS", if is_long() { "3" } else { "1" }), ("JOBS", "3")])
        .output()
        .unwrap();
    let lines = String::from_utf8_lossy(&outcome.stdout);
    let errors = String::from_utf8_lossy(&outcome.stderr);
    assert!(outcome.status.success(), "{lines}{errors}");
}

#[test]
fn locks_from_public_reports_are_judged_right() {
    cases_are_right("reports", &[]);
}

#[test]
fn locks_that_renew_in_the_background_are_judged_right() {
    cases_are_right("renewals", &[]);
}

/// All cases in the longer tier, otherwise the quickest.
#[test]
fn peculiar_clients_are_judged_right() {
    let quickest = ["counted-twice", "helper-key", "long-section"];
    cases_are_right("clients", if is_long() { &[] } else { &quickest });
}

/// Locks whose verdicts rest on what a real server reports: scripts that take time, and removals without a release.
#[test]
fn verdict_cases_are_right_on_processes() {
    let cases = ["takes-until", "fails-to-clean-up", "deletes-first"];
    run_folder("verdicts", &cases);
}

/// Correct locks whose commands, keys or values are unusual are not accused of anything that `set-nx-px` does not do
/// either. The longer tier adds a sale without faults, and the lab runs them in the whole catalog.
#[test]
fn odd_but_correct_locks_are_not_accused() {
    let config = project("lab/honest/picklock.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let names = text.lines().filter_map(|line| line.strip_prefix("[impl."));
    let locks: Vec<&str> = names.filter_map(|name| name.strip_suffix(']')).collect();
    assert!(locks.len() >= 17, "{locks:?}");
    let scenarios = if is_long() {
        "lost-reply,calm"
    } else {
        "lost-reply"
    };
    let matrix = Command::new(env!("CARGO_BIN_EXE_picklock"))
        .args(["matrix", "--backend", "process", "--jobs", "4", "--quiet"])
        .args(["--scenario", scenarios, "--impl", &locks.join(",")])
        .arg("--config")
        .arg(&config)
        .output()
        .unwrap();
    let table = String::from_utf8_lossy(&matrix.stdout);
    let errors = String::from_utf8_lossy(&matrix.stderr);
    assert!(
        matches!(matrix.status.code(), Some(0 | 3)),
        "{table}{errors}"
    );
}

/// The Python module ends the thread of a client, so a renewal that ends with its thread is not accused.
#[test]
fn renewal_ends_with_the_thread_of_its_client() {
    let config = project("lab/honest/picklock.toml");
    let config = shell_words::quote(config.to_str().unwrap()).into_owned();
    let line = format!("scenario ended-client --impl renewing --config {config} --backend process");
    let outcome = picklock(&format!("{line} --json")).run();
    let progress = outcome.document()["verdicts"]["progress"].clone();
    assert_ne!(progress["status"], "violated", "{progress:#}");
}

/// Each fault of a server that lies, a text that commands, or a link that leads elsewhere, with a small input.
#[test]
fn hostile_servers_texts_and_links_do_no_harm() {
    let run = Command::new("bash")
        .arg(project("tests/cases/hostile/run.sh"))
        .env("PICKLOCK", env!("CARGO_BIN_EXE_picklock"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    let gone = said.lines().filter(|line| line.starts_with("ok "));
    assert_eq!(gone.count(), 33, "{said}");
}

/// The campaigns of the lab, for a few seconds, or five minutes in the longer tier.
#[test]
fn attacks_of_the_lab_do_no_harm() {
    let attack = Command::new("python3")
        .arg(project("lab/scripts/attack"))
        .arg(if is_long() { "300" } else { "5" })
        .args(["--binary", env!("CARGO_BIN_EXE_picklock")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&attack.stdout);
    let harm = String::from_utf8_lossy(&attack.stderr);
    assert_eq!(attack.status.code(), Some(0), "{said}{harm}");
    let campaigns = said.lines().filter(|line| line.ends_with("| 0 |"));
    assert_eq!(campaigns.count(), 5, "{said}");
}

//! The cases that once gave wrong verdicts, on processes.

use super::adapters::{exec, project, python_with_redis};
use crate::cases::{all_come_out, differences, run_folder};

#[test]
fn past_wrong_verdicts_are_right_on_processes() {
    all_come_out("process");
}

/// A correct watchdog that omits `elapsed_ms`: an eviction is not the client's fault.
#[test]
fn an_adapter_that_does_not_say_how_long_it_took_is_not_blamed_for_an_eviction() {
    let script = project("tests/adapters/quiet_watchdog.py");
    let lock = exec(&python_with_redis(), &script, "");
    let expected = ["exclusion violated evicted", "lease violated evicted"];
    let wrong = differences("evict-late", &lock, "process", &expected);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Locks whose verdicts rest on what a real server reports: scripts that take time, and removals without a release.
#[test]
fn verdict_cases_are_right_on_processes() {
    let cases = ["takes-until", "fails-to-clean-up", "deletes-first"];
    run_folder("verdicts", &cases);
}

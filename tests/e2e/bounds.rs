//! User input has limits. Beyond them, it is refused with a message that names the limit, or the work is done step by
//! step and can be interrupted.

use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::running::picklock;

/// Returns a scenario with one additional workload setting.
fn scenario(setting: &str) -> String {
    format!(
        "name = \"asked\"\nsummary = \"What was asked for.\"\n[workload]\nstock = 3\n{setting}\n"
    )
}

#[test]
fn oversized_scenario_values_are_refused() {
    for (setting, said) in [
        ("workers = 1000000000000", "expected 1 to 2000"),
        ("keys = 2001", "expected 1 to 2000"),
        ("command_timeout = \"0ms\"", "expected 1ms or more"),
        ("command_timeout = \"0ttl\"", "expected 1ms or more"),
        ("ttl = \"2h\"\nlimit = \"100ttl\"", "168 h (a week) at most"),
        (
            "ttl = \"2h\"\nsection = \"9999ttl\"",
            "168 h (a week) at most",
        ),
        (
            "ttl = \"2h\"\n[[fault]]\nkind = \"pause-client\"\nat = \"0s\"\nworkers = [0]\nfor = \"100ttl\"",
            "168 h (a week) at most",
        ),
        ("limit = \"8000h\"", "168 h (a week) at most"),
        ("limit = \"20000ttl\"", "10000ttl at most"),
    ] {
        let outcome = picklock("scenario asked.toml --impl set-nx-px --backend sim")
            .file("asked.toml", &scenario(setting))
            .run()
            .exits(2);
        let place = outcome.stderr.contains("asked.toml");
        assert!(place && outcome.stderr.contains(said), "{}", outcome.all());
    }
}

#[test]
fn oversized_arguments_are_refused() {
    for (line, said) in [
        (
            "scenario calm --impl set-nx-px --workers 2001",
            "expected 1 to 2000",
        ),
        (
            "scenario calm --impl set-nx-px --nodes 65",
            "expected 1 to 64",
        ),
        (
            "scenario calm --impl set-nx-px --ttl 169h",
            "168 h (a week) at most",
        ),
        ("matrix --backend sim --jobs 1000000", "expected 1 to 1024"),
        ("matrix --backend sim --seeds 0", "at least once"),
        (
            "matrix --backend sim --seed 2 --seeds 18446744073709551615",
            "exceed the largest seed",
        ),
    ] {
        let outcome = picklock(line).run().exits(2);
        assert!(outcome.stderr.contains(said), "{}", outcome.all());
    }
}

/// The seeds are not collected in a list: the first runs start immediately, and the matrix can be interrupted.
#[test]
fn a_trillion_seeds_are_made_as_they_are_needed() {
    let line = "matrix --backend sim --impl set-nx-px --scenario calm --seeds 1000000000000 --json";
    let mut run = picklock(line).start();
    run.hear("backend sim");
    run.signal(Signal::INT);
    let outcome = run.finish().exits(130);
    assert!(outcome.stderr.contains("interrupted"), "{}", outcome.all());
}

/// Runs the program under a limit of the shell.
fn limited(limit: &str, line: &str, home: &Path) -> (Option<i32>, String) {
    let script = format!("{limit}; exec \"$0\" {line}");
    let call = Command::new("bash")
        .args(["-c", &script, env!("CARGO_BIN_EXE_picklock")])
        .current_dir(home)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&call.stderr).into_owned();
    (call.status.code(), said)
}

#[test]
fn small_stack_is_enough() {
    let home = tempfile::tempdir().unwrap();
    let line = "scenario gc-pause --impl redlock --backend sim --seed 7 --quiet";
    let (code, said) = limited("ulimit -s 64", line, home.path());
    assert_eq!(code, Some(1), "{said}");
}

#[test]
fn limit_of_file_sizes_ends_with_words() {
    let home = tempfile::tempdir().unwrap();
    let line = "scenario gc-pause --impl redlock --backend sim --seed 7 --quiet --out run";
    let (code, said) = limited("ulimit -f 1", line, home.path());
    assert_eq!(code, Some(4), "{said}");
    assert!(
        said.contains("cannot write run/") && said.contains("too large"),
        "{said}"
    );
    let is_complete = home.path().join("run/run.json").exists();
    assert!(!is_complete, "half of a run has a record");
}

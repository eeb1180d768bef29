//! A stalled machine is named, and no lock is blamed for it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use crate::running::{Call, REPEATS, picklock};

const STALL: Duration = Duration::from_millis(700);

/// Longer than the pause, so that the harness and not the scenario decides who is late.
const LONG_STALL: Duration = Duration::from_secs(5);

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "not a wait for something: the stall is what is tested, and has a length"
)]
fn a_stall_during_a_fault_is_no_pass() {
    let line = "scenario gc-pause --impl redlock --backend process --json --no-rerun";
    let mut run = picklock(line).start();
    run.hear("fault: pause-client");
    run.signal(Signal::STOP);
    std::thread::sleep(LONG_STALL);
    run.signal(Signal::CONT);
    let outcome = run.finish();
    assert!(matches!(outcome.code, Some(1 | 3)), "{}", outcome.all());
    for (property, verdict) in outcome.document()["verdicts"].as_object().unwrap() {
        assert_ne!(verdict["status"], "held", "{property}: {}", outcome.all());
        let story = verdict["story"].to_string();
        let named = story.contains("the harness stalled for");
        assert!(
            named || verdict["status"] != "unknown",
            "{property}: {story}"
        );
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "not a wait for something: the stall is what is tested, and has a length"
)]
fn a_driver_that_was_kept_from_running_says_so() {
    let line = "scenario gc-pause --impl set-nx-px --ttl 2s --backend process --out run --no-rerun";
    let stopped = || {
        let mut run = picklock(line).start();
        run.hear("fault: pause-client");
        run.signal(Signal::STOP);
        std::thread::sleep(STALL);
        run.signal(Signal::CONT);
        run.finish()
    };
    let mut outcome = stopped();
    for _ in 0..REPEATS {
        // The machine itself stalled for longer, which made the run inconclusive.
        if outcome.code != Some(3) {
            break;
        }
        outcome = stopped();
    }
    let outcome = outcome.exits(1);
    let history = outcome.text_file("run/history.jsonl");
    let events = history
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let stalls: Vec<u64> = events
        .filter(|event| event["event"] == "harness-stalled")
        .map(|event| event["late_ms"].as_u64().unwrap())
        .collect();
    // A little less than the stall, because the harness would have slept for part of the time anyway.
    assert!(
        stalls.iter().any(|late_ms| (600..5000).contains(late_ms)),
        "{history}"
    );
    assert!(
        outcome.all().contains("the harness stalled for"),
        "{}",
        outcome.all()
    );
}

/// A lock that stalls Picklock once while it is held. `ADAPTERS` is replaced by the folder of the adapters.
const STALLS_ONCE: &str = r#"
import os, pathlib, subprocess, sys
sys.path.insert(0, ADAPTERS)
from my_lock import MyLock
from picklock_adapter import serve

STAND_STILL = "sleep 0.1; kill -STOP $0; sleep 0.7; kill -CONT $0"

class StallsOnce(MyLock):
    def acquire(self, key, ttl_ms, wait_ms):
        grant = super().acquire(key, ttl_ms, wait_ms)
        try:
            pathlib.Path(__file__).with_name("once").touch(exist_ok=False)
            subprocess.Popen(["sh", "-c", STAND_STILL, str(os.getppid())], start_new_session=True)
        except FileExistsError:
            pass
        return grant

serve(StallsOnce, name="stalls-once")
"#;

/// Replaces `PYTHON` in the line by the interpreter.
fn with_python(line: &str) -> String {
    let python = std::env::var("PICKLOCK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    line.replace("PYTHON", &python)
}

/// Replaces `ADAPTERS` in the program by the folder of the adapters.
fn from_adapters(program: &str) -> String {
    let adapters = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters/python");
    program.replace("ADAPTERS", &format!("{:?}", adapters.display()))
}

/// Creates a call with a lock that stalls Picklock once. `PYTHON` in the line is the interpreter.
fn with_stalls_once(line: &str) -> Call {
    let scenario = "name = \"long-sections\"\nsummary = \"A buyer works for half a lease.\"\n\
                    [workload]\nworkers = 2\nstock = 3\nsection = \"0.5ttl\"\n\
                    [expect.\"*\"]\nlease = \"held\"\n";
    picklock(&with_python(line))
        .file("stalls_once.py", &from_adapters(STALLS_ONCE))
        .file("long-sections.toml", scenario)
}

#[test]
fn scenario_with_a_stalled_machine_is_rerun() {
    let line = "scenario long-sections.toml --backend process --impl 'exec:PYTHON stalls_once.py'";
    let outcome = with_stalls_once(line).start().finish();
    let said = outcome.all();
    assert!(said.contains("rerunning it"), "{said}");
}

/// The spoiled run is repeated, and only the repetition counts.
#[test]
fn a_matrix_makes_a_run_again_in_which_the_machine_stood_still() {
    let line = "matrix --scenario long-sections.toml --backend process --json --quiet --out kept \
                --name 'stalls=exec:PYTHON stalls_once.py'";
    let call = with_stalls_once(line);
    let outcome = call.run().exits(0);
    let cell = &outcome.document()["cells"][0];
    assert_eq!(cell["runs"], 1, "{cell:#}");
    assert_eq!(cell["verdicts"]["lease"]["status"], "held", "{cell:#}");
    assert!(cell["reruns"].as_u64() >= Some(1), "{cell:#}");
    let kept = outcome.text_file("kept/stalls/long-sections/process/history.jsonl");
    let stalls = kept
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let mut late_ms = stalls.filter_map(|event| event["late_ms"].as_u64());
    assert!(late_ms.all(|late_ms| late_ms < 600), "{kept}");
}

/// A lock whose attempts take two seconds each in the first run of a folder.
const SLOW_ONCE: &str = r#"
import os, sys, time
sys.path[:0] = [ADAPTERS]
from my_lock import MyLock
from picklock_adapter import serve

try:
    with open("first-run", "x") as file:
        file.write(str(os.getppid()))
except FileExistsError:
    pass
with open("first-run") as file:
    IS_FIRST = file.read() in ("", str(os.getppid()))

class SlowOnce(MyLock):
    def acquire(self, key, ttl_ms, wait_ms):
        time.sleep(2 if IS_FIRST else 0)
        return super().acquire(key, ttl_ms, wait_ms)

serve(SlowOnce, name="slow-once")
"#;

/// Too few grants may be chance, and a gate must not fail by chance.
#[test]
fn a_matrix_makes_a_run_again_that_granted_the_lock_too_rarely() {
    let scenario = "name = \"in-time\"\nsummary = \"Two buyers have three seconds.\"\n\
                    [workload]\nworkers = 2\nstock = 20\nttl = \"1s\"\nlimit = \"3s\"\n\
                    [judge]\nmin_grants = 6\n[expect.slow-once]\nlease = \"held\"\n";
    let line = "matrix --scenario in-time.toml --backend process --json --quiet \
                --name 'slow-once=exec:PYTHON slow_once.py'";
    let call = picklock(&with_python(line))
        .file("slow_once.py", &from_adapters(SLOW_ONCE))
        .file("in-time.toml", scenario);
    let outcome = call.run().exits(0);
    let cell = &outcome.document()["cells"][0];
    assert_eq!(cell["verdicts"]["lease"]["status"], "held", "{cell:#}");
    assert_eq!(cell["runs"], 1, "{cell:#}");
    assert!(cell["reruns"].as_u64() >= Some(1), "{cell:#}");
}

/// A Redis server that restarts slowly.
const SLOW_TO_COME_BACK: &str = r#"#!/bin/sh
case "$1" in -v | --version) exec redis-server "$@" ;; esac
mark="$0.$(echo "$*" | cksum | cut -d ' ' -f 1)"
if [ -e "$mark" ]; then sleep 2; fi
touch "$mark"
exec redis-server "$@"
"#;

/// A lock that is lost in a restart passes if its holder has left before the server is back. This must not count as a
/// pass; with a lease that outlasts the restart, the loss shows.
#[test]
fn a_restart_that_outlasts_the_hold_is_no_pass() {
    let home = tempfile::tempdir().unwrap();
    let server = home.path().join("slow-redis-server");
    std::fs::write(&server, SLOW_TO_COME_BACK).unwrap();
    std::fs::set_permissions(&server, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = |ttl: &str| {
        let line = "scenario node-restart --impl set-nx-px --backend process --json --no-rerun";
        let server = server.display();
        picklock(&format!("{line} --ttl {ttl} --redis-server '{server}'"))
            .start()
            .finish()
    };
    let outlasted = run("2s").exits(3);
    let lease = &outlasted.document()["verdicts"]["lease"];
    assert_eq!(lease["status"], "unknown", "{lease:#}");
    let story = lease["story"].to_string();
    assert!(
        story.contains("a fault lasted too long: crash-node"),
        "{story}"
    );
    assert!(outlasted.all().contains("longer than specified"));
    let seen = run("12s").exits(1);
    let lease = &seen.document()["verdicts"]["lease"];
    assert_eq!(lease["cause"], "lost-on-restart", "{lease:#}");
}

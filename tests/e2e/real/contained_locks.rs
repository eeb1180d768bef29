//! Locks in separate containers: `--impl docker:IMAGE`. Needs a Docker engine that runs as root, and `python3`, from
//! whose files `scripts/python-image` builds the image.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use rustix::process::Signal;

use super::containers::{containers_of, docker};
use super::leftovers::becomes;
use crate::running::{Outcome, picklock};

/// A lock that renews itself in a thread. If only its main thread were frozen, it would keep the lock.
const WATCHDOG: &str = "tests/adapters/quiet_watchdog.py";

/// Maximum number of runs if the machine stalls.
const TRIES: usize = 4;

fn image() -> &'static str {
    const IMAGE: &str = "picklock-test-watchdog:local";
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let built = Command::new(root.join("scripts/python-image"))
            .args([IMAGE, WATCHDOG])
            .current_dir(root)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{errors}");
    });
    IMAGE
}

/// Builds an image with a different program.
fn image_that_runs(name: &str, program: &str) -> String {
    let changed = format!("picklock-test-{name}:local");
    let python = docker(&[
        "image",
        "inspect",
        "--format",
        "{{index .Config.Entrypoint 0}}",
        image(),
    ]);
    let entry = format!("ENTRYPOINT {}", serde_json::json!([python, "-c", program]));
    let base = docker(&["create", image()]);
    // An image of an earlier test run would become unnamed. If there is none, the command fails harmlessly.
    let _ = Command::new("docker")
        .args(["image", "rm", &changed])
        .output();
    docker(&["commit", "--change", &entry, &base, &changed]);
    docker(&["rm", &base]);
    changed
}

/// Returns the outcome of a run in which the machine did not stall.
fn judged(line: &str) -> Outcome {
    let mut outcome = picklock(line).run();
    for _ in 1..TRIES {
        if outcome.code != Some(3) && !outcome.stdout.contains("the harness stalled for") {
            break;
        }
        outcome = picklock(line).run();
    }
    outcome
}

fn no_container_is_left(pid: u32) {
    let left = containers_of(pid);
    assert!(left.is_empty(), "{left:?}");
}

/// If its renewing thread kept running, nothing would be violated.
#[test]
fn a_watchdog_is_frozen_with_its_thread() {
    let line = format!(
        "scenario gc-pause --impl docker:{} --backend process --json",
        image()
    );
    let outcome = judged(&line).exits(1);
    let document = outcome.document();
    let exclusion = &document["verdicts"]["exclusion"];
    assert_eq!(exclusion["status"], "violated", "{}", outcome.all());
    assert_eq!(exclusion["cause"], "outlived-lease", "{}", outcome.all());
    assert_eq!(document["impl"]["name"], "quiet-watchdog");
    outcome.left_no_directory();
}

/// No worker is frozen: the thread renews, and every property holds. The lease is long, because a container may be
/// starved of CPU time for a while.
#[test]
fn a_watchdog_that_runs_holds_on() {
    let line = format!(
        "scenario slow-section --impl docker:{} --ttl 4s --backend process --json",
        image()
    );
    judged(&line).exits(0);
}

/// A container that is starved of CPU time would outlive a lease of one second.
#[test]
fn one_is_killed_and_the_others_go_on() {
    let line = format!(
        "scenario holder-crash --impl docker:{} --ttl 5s --backend process --json",
        image()
    );
    let outcome = judged(&line).exits(0);
    let faults = outcome.document()["faults"].to_string();
    assert!(faults.contains("crash-client"), "{faults}");
}

/// Returns the outcome of a run whose holder is terminated. A container that is starved of CPU time would outlive a
/// lease of one second.
fn terminated(image: &str) -> Outcome {
    let line = format!(
        "scenario terminated-holder --impl docker:{image} --ttl 5s --backend process --out run --json"
    );
    let outcome = judged(&line).exits(0);
    let faults = outcome.document()["faults"].to_string();
    assert!(faults.contains("terminate-client"), "{faults}");
    outcome
}

/// Prefix of what the lock writes to standard error when it receives SIGTERM.
const RECEIVED: &str = "received SIGTERM";

/// The first process of a container ignores SIGTERM unless it handles it.
#[test]
fn container_that_ignores_sigterm_is_killed_later() {
    terminated(image()).left_no_directory();
}

/// The handler runs inside the container, so SIGTERM has reached it.
#[test]
fn container_that_handles_sigterm_cleans_up() {
    let program = format!(
        "import os, runpy, signal, sys\n\
         def end(*_):\n    \
             print('{RECEIVED}', file=sys.stderr, flush=True)\n    \
             os._exit(143)\n\
         signal.signal(signal.SIGTERM, end)\n\
         runpy.run_path('/lock/quiet_watchdog.py', run_name='__main__')"
    );
    let outcome = terminated(&image_that_runs("sigterm", &program));
    let logs = std::fs::read_dir(outcome.home().join("run"))
        .unwrap()
        .flatten();
    let logs = logs.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
    let received = logs.filter(|text| text.contains(RECEIVED)).count();
    assert_eq!(received, 1, "{}", outcome.all());
}

#[test]
fn its_adapter_keeps_the_protocol() {
    let outcome = picklock(&format!("adapter check docker:{}", image())).run();
    outcome.exits(0).left_no_directory();
}

#[test]
fn a_configuration_names_an_image() {
    let tables = format!(
        "[impl.mine]\ncommand = \"docker:{}\"\nrenews = true\n",
        image()
    );
    let line = "matrix --backend process --impl mine --scenario slow-section --json --quiet";
    let mut outcome = picklock(line).file("picklock.toml", &tables).run();
    for _ in 1..TRIES {
        if outcome.code == Some(0) {
            break;
        }
        outcome = picklock(line).file("picklock.toml", &tables).run();
    }
    let cells = outcome.exits(0).document()["cells"].clone();
    assert_eq!(cells[0]["impl"]["name"], "mine");
    assert_eq!(cells[0]["verdicts"]["exclusion"]["status"], "held");
}

#[test]
fn a_directory_makes_no_sense_for_an_image() {
    let tables = "[impl.mine]\ncommand = \"docker:some/lock:1\"\ndirectory = \"bin\"\n";
    let line = "scenario calm --backend process --impl mine";
    let outcome = picklock(line).file("picklock.toml", tables).run().exits(2);
    assert!(outcome.stderr.contains("3:13"), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("not allowed with an image"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_saved_run_is_replayed_only_with_trust() {
    let line = format!(
        "scenario calm --impl docker:{} --ttl 5s --backend process --quiet --out kept",
        image()
    );
    // A container that is starved of CPU time would outlive a lease of one second.
    let kept = picklock(&line).run();
    assert!(matches!(kept.code, Some(0 | 3)), "{}", kept.all());
    let home = kept.home().to_owned();
    let refused = picklock("replay kept").within(&home).run().exits(2);
    let named = format!("a program in containers of the image: {}", image());
    assert!(refused.stderr.contains(&named), "{}", refused.stderr);
    let replayed = picklock("replay kept --trust --quiet").within(&home).run();
    // A run may be inconclusive on a busy machine.
    assert!(matches!(replayed.code, Some(0 | 3)), "{}", replayed.all());
}

#[test]
fn missing_image_is_reported() {
    let cases = [
        (
            "docker:picklock-test-none:1",
            4,
            "image picklock-test-none:1 of the lock not found",
        ),
        ("docker:", 2, "needs the reference of an image"),
        ("docker:-v", 2, "needs the reference of an image"),
    ];
    for (lock, code, part) in cases {
        let line = format!("scenario calm --impl {lock} --backend process");
        let outcome = picklock(&line).run().exits(code);
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
        outcome.left_no_directory();
    }
    let line = "scenario calm --impl docker:any --backend process";
    let without = picklock(line).env("DOCKER_HOST", "unix:///nowhere/docker.sock");
    let outcome = without.run().exits(4);
    assert!(
        outcome.stderr.contains("no container engine answers"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn an_image_that_ends_at_once_is_named_with_its_words() {
    let ends = image_that_runs("ends", "import sys; sys.exit('there is no lock in here')");
    let line = format!("scenario calm --impl docker:{ends} --backend process");
    let outcome = picklock(&line).run().exits(4);
    assert!(
        outcome.stderr.contains("exited with status 1"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("there is no lock in here"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn nothing_is_left_after_an_end_in_order() {
    let line = format!(
        "scenario calm --impl docker:{} --backend process --quiet",
        image()
    );
    let run = picklock(&line).start();
    let pid = run.pid();
    run.finish();
    no_container_is_left(pid);
}

#[test]
fn nothing_is_left_of_a_killed_harness() {
    let line = format!(
        "scenario slow-section --impl docker:{} --backend process",
        image()
    );
    let mut run = picklock(&line).start();
    let pid = run.pid();
    // The run's workers have answered by then.
    run.hear("got the lock");
    assert!(containers_of(pid).len() >= 2, "{:?}", containers_of(pid));
    run.signal(Signal::KILL);
    run.finish();
    becomes("no container", || {
        let left = containers_of(pid);
        left.is_empty().then_some(()).ok_or(format!("{left:?}"))
    });
}

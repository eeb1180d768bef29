//! Locks in other languages, well and ill behaved, and workers that die: each is recorded and named, and never crashes
//! or stops the run.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::containers::{containers_of, docker};
use super::proc_table::{Process, started_by, workers_of};
use crate::running::{Call, Outcome, picklock};

pub fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns `exec:` with an adapter of `tests/adapters`, quoted for a command line.
pub fn exec(python: &str, script: &Path, arguments: &str) -> String {
    let line = format!("exec:{python} {} {arguments}", script.display());
    shell_words::quote(line.trim()).into_owned()
}

/// Short leases and waits, but enough time to detect a hung worker.
const PATIENT: &str = r#"
name = "patient"
summary = "Nothing goes wrong but the adapter."
[workload]
stock = 6
ttl = "100ms"
wait = "100ms"
section = "20ms"
command_timeout = "100ms"
limit = "30s"
"#;

/// Runs against an ill-behaved adapter.
fn against(adapter: &str, arguments: &str) -> Outcome {
    call_against(adapter, arguments).run()
}

fn call_against(adapter: &str, arguments: &str) -> Call {
    let lock = exec(
        "python3",
        &project("tests/adapters").join(adapter),
        arguments,
    );
    let line = format!("scenario patient.toml --impl {lock} --backend process --json --out run");
    picklock(&line).file("patient.toml", PATIENT)
}

/// Asserts that the record and the text that is generated from its history name the failure.
#[track_caller]
fn troubled(outcome: Outcome, kind: Option<&str>, said: &str) -> Value {
    assert!(matches!(outcome.code, Some(1 | 3)), "{}", outcome.all());
    assert!(!outcome.stderr.contains("panicked"), "{}", outcome.all());
    let document = outcome.document();
    let trouble = document["trouble"].to_string();
    assert!(
        trouble.contains(said),
        "no `{said}` in {trouble}\n{}",
        outcome.all()
    );
    let history = outcome.text_file("run/history.jsonl");
    let event = match kind {
        Some(kind) => format!("\"event\":\"misbehaved\",\"worker\":0,\"kind\":\"{kind}\""),
        None => "\"event\":\"worker-down\",\"worker\":0,\"by_fault\":false".to_owned(),
    };
    assert!(history.contains(&event), "no {event} in\n{history}");
    let text = picklock("check history.jsonl")
        .file("history.jsonl", &history)
        .run();
    assert!(
        text.stdout.contains(said),
        "no `{said}` in\n{}",
        text.stdout
    );
    assert_eq!(text.code, outcome.code);
    outcome.left_no_directory();
    document
}

fn status<'a>(document: &'a Value, property: &str) -> &'a str {
    document["verdicts"][property]["status"].as_str().unwrap()
}

#[test]
fn garbage_in_the_place_of_a_grant() {
    let document = troubled(
        against("garbage.py", "acquire"),
        Some("garbage"),
        "Connected to Redis!",
    );
    assert_eq!(document["counts"]["granted"], 0);
    assert_eq!(status(&document, "exclusion"), "unknown");
}

#[test]
fn garbage_of_a_megabyte_is_kept_short() {
    let outcome = against("garbage.py", "release huge");
    let history = outcome.text_file("run/history.jsonl");
    assert!(
        history.len() < 100_000,
        "{} bytes of history",
        history.len()
    );
    let document = troubled(outcome, Some("garbage"), "xxxxxxxx");
    // A client that cannot release keeps the lock. The others were granted it anyway, which is proof.
    assert_eq!(status(&document, "exclusion"), "violated");
}

#[test]
fn a_worker_that_never_answers() {
    let document = troubled(against("hang.py", "acquire"), Some("hung"), "0 hung");
    assert_eq!(status(&document, "exclusion"), "unknown");
    assert_ne!(status(&document, "progress"), "held");
}

#[test]
fn a_worker_that_hangs_inside_its_section() {
    troubled(against("hang.py", "release"), Some("hung"), "0 hung");
}

/// Nothing resumes them, not even the final inspection, which asks a new worker.
#[test]
fn worker_that_stops_itself_is_ended_without_a_rerun() {
    let stops = ["acquire", "release", "release child"];
    let runs = stops.map(|arguments| call_against("stop.py", arguments).start());
    for run in runs {
        let outcome = run.finish();
        assert!(!outcome.stderr.contains("rerunning"), "{}", outcome.all());
        let document = troubled(outcome, Some("stopped"), "stopped by a signal (SIGSTOP)");
        assert_ne!(status(&document, "progress"), "held");
    }
}

#[test]
fn a_worker_that_exits() {
    let document = troubled(against("exit.py", "acquire 3"), None, "0 died on its own");
    assert_eq!(status(&document, "exclusion"), "unknown");
    let trouble = document["trouble"].to_string();
    assert!(trouble.contains("exited with status 3"), "{trouble}");
}

#[test]
fn a_worker_that_is_killed_by_a_signal_of_its_own() {
    let document = troubled(against("exit.py", "release SIGABRT"), None, "SIGABRT");
    assert_eq!(status(&document, "exclusion"), "violated");
}

#[test]
fn a_worker_that_leaves_a_child_with_its_output() {
    troubled(
        against("exit.py", "release orphan"),
        None,
        "exited with status 0",
    );
}

#[test]
fn a_worker_that_closes_its_output() {
    troubled(
        against("exit.py", "acquire silent"),
        None,
        "closed its standard output",
    );
}

#[test]
fn worker_that_exits_early_is_an_environment_failure() {
    let script = project("tests/adapters/exit.py");
    let lock = exec("python3", &script, "init 7");
    let outcome = picklock(&format!("scenario calm --impl {lock} --backend process"))
        .run()
        .exits(4);
    assert!(
        outcome.stderr.contains("exited with status 7"),
        "{}",
        outcome.all()
    );
    outcome.left_no_directory();
}

#[test]
fn a_worker_that_cannot_start_shows_what_it_wrote() {
    let lock = exec("python3", Path::new("no_such_adapter.py"), "");
    let outcome = picklock(&format!("scenario calm --impl {lock} --backend process"))
        .run()
        .exits(4);
    assert!(
        outcome.stderr.contains("no_such_adapter.py"),
        "{}",
        outcome.all()
    );
    assert!(outcome.stderr.contains("No such file"), "{}", outcome.all());
}

#[test]
fn a_program_that_is_no_adapter_is_quoted() {
    let line = "scenario calm --impl 'exec:echo Connected to Redis!' --backend process --quiet";
    let outcome = picklock(line).run().exits(4);
    assert!(
        outcome.stderr.contains("log to standard error"),
        "{}",
        outcome.all()
    );
    assert!(
        outcome.stderr.contains("Connected to Redis!"),
        "{}",
        outcome.all()
    );
    outcome.left_no_directory();
}

#[test]
fn a_lock_cannot_command_the_terminal() {
    let lock = exec("python3", &project("tests/adapters/hostile.py"), "");
    let line = format!("scenario patient.toml --impl {lock} --backend process --out run");
    let outcome = picklock(&line).file("patient.toml", PATIENT).run();
    assert!(matches!(outcome.code, Some(1 | 3)), "{}", outcome.all());
    let history = outcome.text_file("run/history.jsonl");
    let again = picklock("check history.jsonl")
        .file("history.jsonl", &history)
        .run();
    for text in [&outcome.stdout, &outcome.stderr, &again.stdout] {
        let commands = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(commands), "{text:?}");
    }
    assert!(outcome.stdout.contains("\\u{1b}"), "{}", outcome.all());
}

/// A thread that renews can be faster than the one that writes the grant. When such an event was ignored, a lock that
/// had reported its loss in time looked like one that reports none.
#[test]
fn event_before_its_grant_belongs_to_the_grant() {
    let outcome = against("quiet_watchdog.py", "early");
    let history = outcome.text_file("run/history.jsonl");
    assert!(!history.contains("misbehaved"), "{history}");
    let place = |event: &str| history.find(&format!("\"event\":\"{event}\""));
    let (granted, extended) = (place("granted").unwrap(), place("extended").unwrap());
    assert!(granted < extended, "{history}");
}

/// Kills a process, which is found in the system's process table.
fn kill(process: &Process) {
    let pid = Pid::from_raw(i32::try_from(process.pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

/// Uses `--no-rerun`: a spoiled run would be repeated, and in the repetition nothing is killed.
#[test]
fn a_worker_that_somebody_kills() {
    let line =
        "scenario calm --impl set-nx-px --ttl 400ms --backend process --json --out run --no-rerun";
    let mut run = picklock(line).start();
    run.hear("got the lock");
    kill(&workers_of(run.pid())[0]);
    let outcome = run.finish();
    assert!(matches!(outcome.code, Some(0 | 3)), "{}", outcome.all());
    let trouble = outcome.document()["trouble"].to_string();
    assert!(trouble.contains("died on its own"), "{trouble}");
    assert!(trouble.contains("SIGKILL"), "{trouble}");
    outcome.left_no_directory();
}

/// Kills the Redis of a run, and checks the run's report. The lease must last until then even on a busy machine, where
/// a lease of a tenth of a second expires before its grant is read.
fn without_its_redis(backend: &str, kill_it: impl Fn(u32)) {
    let line =
        format!("scenario calm --impl set-nx-px --ttl 1s --backend {backend} --json --no-rerun");
    let mut run = picklock(&line).start();
    run.hear("got the lock");
    kill_it(run.pid());
    let outcome = run.finish();
    assert!(!outcome.stderr.contains("panicked"), "{}", outcome.all());
    // Without its Redis the lock can do nothing. This is neither the lock's fault nor a pass.
    let document = outcome.document();
    let trouble = document["trouble"].to_string();
    assert!(trouble.contains("node 0 failed on its own"), "{trouble}");
    assert_eq!(status(&document, "progress"), "unknown");
    outcome.exits(3).left_no_directory();
}

#[test]
fn a_server_that_somebody_kills() {
    without_its_redis("process", |pid| {
        let processes = started_by(pid);
        let server = processes
            .iter()
            .find(|one| one.name.contains("redis-server"));
        kill(server.expect("there is a server"));
    });
}

#[test]
fn a_container_that_somebody_kills() {
    without_its_redis("docker", |pid| {
        let containers = containers_of(pid);
        assert_eq!(containers.len(), 1, "{containers:?}");
        docker(&["kill", &containers[0]]);
    });
}

/// Returns a Python interpreter with redis-py, or fails with instructions to install it.
pub fn python_with_redis() -> String {
    let python = std::env::var("PICKLOCK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python).args(["-c", "import redis"]).output();
    assert!(
        found.is_ok_and(|output| output.status.success()),
        "`{python}` has no redis-py. Make an environment that has it, and name its Python:\n  \
         python3 -m venv .venv\n  \
         .venv/bin/pip install -r adapters/python/requirements.txt\n  \
         export PICKLOCK_PYTHON=$PWD/.venv/bin/python"
    );
    python
}

fn redis_py(scenario: &str, code: i32) -> Value {
    let script = project("adapters/python/redis_py_lock.py");
    let lock = exec(&python_with_redis(), &script, "");
    let line = format!("scenario {scenario} --impl {lock} --backend process --json");
    let outcome = picklock(&line).run().exits(code);
    let document = outcome.document();
    assert_eq!(document["impl"]["name"], "redis-py");
    assert_ne!(document["impl"]["version"], "", "{document:#}");
    outcome.left_no_directory();
    document
}

#[test]
fn the_lock_of_redis_py_holds_in_calm() {
    let document = redis_py("calm", 0);
    assert_eq!(document["counts"]["sold"], 12);
}

#[test]
fn the_lock_of_redis_py_is_outlived_in_a_pause() {
    let document = redis_py("gc-pause", 1);
    for property in ["exclusion", "resource"] {
        assert_eq!(document["verdicts"][property]["cause"], "outlived-lease");
    }
    for property in ["lease", "ownership", "progress"] {
        assert_eq!(status(&document, property), "held", "{property}");
    }
}

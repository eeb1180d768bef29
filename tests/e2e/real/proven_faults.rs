//! Picklock detects a fault that did not reach the process with the lock, and a lock that uses other servers.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use super::adapters::{exec, project, python_with_redis};
use super::containers::docker;
use super::leftovers::{becomes, image};
use crate::running::{Outcome, picklock};

/// Returns `exec:` with the watchdog behind a wrapper of `tests/adapters`, or behind a program.
fn watchdog_behind(wrapper: &str) -> String {
    let python = python_with_redis();
    let watchdog = project("tests/adapters/watchdog.py");
    let watchdog = format!("{python} {}", watchdog.display());
    match wrapper.split_once(".py") {
        Some((name, arguments)) => {
            let script = project("tests/adapters").join(format!("{name}.py"));
            exec(
                "python3",
                &script,
                &format!("{} {watchdog}", arguments.trim()),
            )
        }
        None => shell_words::quote(&format!("exec:{wrapper} {watchdog}")).into_owned(),
    }
}

/// Returns the descendants of this run's workers, identified by their mark, dead or alive.
fn marked(pid: u32) -> Vec<u32> {
    let mark = format!("PICKLOCK_WORKER={pid}:");
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| {
        let text = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut entries = text.split(|byte| *byte == 0);
        entries.any(|entry| entry.starts_with(mark.as_bytes()))
    })
    .collect()
}

/// Asserts that the process with the lock is frozen despite the wrapper.
fn is_frozen_behind(wrapper: &str) {
    let lock = watchdog_behind(wrapper);
    let line = format!("scenario gc-pause --impl {lock} --backend process --json --seed 1");
    let run = picklock(&line).start();
    let pid = run.pid();
    let outcome = run.finish().exits(1);
    assert_eq!(marked(pid), [0; 0], "{wrapper}: left behind");
    let document = outcome.document();
    let trouble = document["trouble"].to_string();
    assert!(!trouble.contains("frozen or dead"), "{wrapper}: {trouble}");
    for property in ["exclusion", "resource"] {
        let cause = &document["verdicts"][property]["cause"];
        assert_eq!(cause, "outlived-lease", "{wrapper}: {}", outcome.all());
    }
    outcome.left_no_directory();
}

#[test]
fn a_session_of_its_own_is_frozen() {
    is_frozen_behind("setsid -w");
}

#[test]
fn a_grandchild_with_another_parent_is_frozen() {
    is_frozen_behind("double_fork.py");
}

#[test]
fn a_daemon_that_does_the_work_is_frozen() {
    is_frozen_behind("daemon.py");
}

/// Asserts that no property is held, and that each verdict contains the reason.
#[track_caller]
fn undecided(outcome: &Outcome, reason: &str) -> Value {
    let document = outcome.document();
    for (property, verdict) in document["verdicts"].as_object().unwrap() {
        assert_ne!(verdict["status"], "held", "{property}: {}", outcome.all());
        if verdict["status"] == "unknown" {
            let story = verdict["story"].to_string();
            assert!(story.contains(reason), "{property}: {story}");
        }
    }
    document
}

/// Its parent is unknown, so it cannot be frozen; but its traffic is detected.
#[test]
fn a_daemon_that_hides_is_heard() {
    let lock = watchdog_behind("daemon.py --hidden");
    let line = format!("scenario gc-pause --impl {lock} --backend process --json --out run");
    let outcome = picklock(&line).run();
    // On a busy machine its renewal may fail, so that other clients get in. The proof remains.
    assert!(matches!(outcome.code, Some(1 | 3)), "{}", outcome.all());
    undecided(&outcome, "was frozen or dead, but sent data to");
    assert!(
        outcome.document()["trouble"]
            .to_string()
            .contains("frozen or dead")
    );
    let history = outcome.text_file("run/history.jsonl");
    assert!(
        history.contains(r#""event":"freeze-breach","id":0"#),
        "{history}"
    );
    let again = picklock("check history.jsonl")
        .file("history.jsonl", &history)
        .run();
    assert!(again.stdout.contains("is a wrapper"), "{}", again.all());
}

/// The engine's client is frozen, but the container keeps running.
#[test]
fn a_container_is_heard() {
    let binary = Path::new(env!("CARGO_BIN_EXE_picklock"));
    let label = format!("picklock.test={}", std::process::id());
    let program = format!(
        "exec:docker run -i --rm --network host --label {label} -v /usr:/usr:ro -v /lib:/lib:ro \
         -v /lib64:/lib64:ro -v {}:/picklock:ro --entrypoint /picklock {} worker --impl watchdog",
        binary.display(),
        image()
    );
    let lock = shell_words::quote(&program);
    let line = format!("scenario gc-pause --impl {lock} --backend process --json");
    let outcome = picklock(&line).run();
    assert!(matches!(outcome.code, Some(1 | 3)), "{}", outcome.all());
    undecided(&outcome, "was frozen or dead, but sent data to");
    becomes("no container", || {
        let filter = format!("label={label}");
        let left = docker(&["ps", "-q", "--filter", &filter]);
        left.is_empty().then_some(()).ok_or(left)
    });
}

#[test]
fn a_killed_run_leaves_no_daemon() {
    let lock = watchdog_behind("daemon.py");
    let line = format!("scenario gc-pause --impl {lock} --backend process");
    let mut run = picklock(&line).start();
    run.hear("fault: pause-client");
    let pid = run.pid();
    assert!(marked(pid).len() >= 6, "three clients and three daemons");
    run.signal(Signal::KILL);
    let outcome = run.finish();
    becomes("no process", || {
        let left = marked(pid);
        left.is_empty().then_some(()).ok_or(format!("{left:?}"))
    });
    assert_eq!(outcome.code, None);
}

/// A crash kills the whole wrapper: the process behind it no longer renews the lock.
#[test]
fn a_crash_reaches_the_process_behind_a_wrapper() {
    let lock = watchdog_behind("double_fork.py");
    let line = format!("scenario holder-crash --impl {lock} --backend process --json");
    let run = picklock(&line).start();
    let pid = run.pid();
    let outcome = run.finish();
    // A stalled machine makes the verdict unknown.
    assert!(matches!(outcome.code, Some(0 | 3)), "{}", outcome.all());
    assert_eq!(marked(pid), [0; 0]);
    let trouble = outcome.document()["trouble"].to_string();
    assert!(!trouble.contains("frozen or dead"), "{trouble}");
}

/// A Redis that is not part of any run, and ends with the test.
struct OwnRedis {
    server: Child,
    port: u16,
}

impl OwnRedis {
    fn start() -> OwnRedis {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut server = Command::new("redis-server");
        server.args([
            "--port",
            &port.to_string(),
            "--save",
            "",
            "--bind",
            "127.0.0.1",
        ]);
        let server = server.stdout(Stdio::null()).spawn().unwrap();
        becomes("a server", || {
            let connected = std::net::TcpStream::connect(("127.0.0.1", port));
            connected.map(drop).map_err(|error| error.to_string())
        });
        OwnRedis { server, port }
    }
}

impl Drop for OwnRedis {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

#[test]
fn a_lock_with_an_address_of_its_own_is_not_judged() {
    let redis = OwnRedis::start();
    let script = project("tests/adapters/watchdog.py");
    let url = format!("redis://127.0.0.1:{}", redis.port);
    let lock = exec(&python_with_redis(), &script, &url);
    for scenario in ["calm", "master-failover", "partition-holder"] {
        // A rerun would use the same foreign server.
        let line = format!("scenario {scenario} --impl {lock} --backend process --json --no-rerun");
        let outcome = picklock(&line).run().exits(3);
        let document = undecided(&outcome, "does not use the servers that it was given");
        for (property, verdict) in document["verdicts"].as_object().unwrap() {
            assert_eq!(verdict["status"], "unknown", "{scenario}: {property}");
            let story = verdict["story"].to_string();
            assert!(
                story.contains("it should use redis://127.0.0.1:"),
                "{story}"
            );
            assert!(!story.contains(&url), "{story}");
        }
    }
}

#[test]
fn a_run_that_does_not_fit_into_the_limit_does_not_start() {
    for limit in [62, 66] {
        for scenario in ["calm", "gc-pause"] {
            let line = format!("scenario {scenario} --impl redlock --backend process");
            let outcome = picklock(&line).with_descriptors(limit).run().exits(4);
            let told = format!("at most {limit} open files");
            assert!(outcome.stderr.contains(&told), "{}", outcome.all());
            outcome.left_no_directory();
        }
    }
}

/// The estimate of file descriptors cannot cover this lock, which opens ten connections instead of one. The shortage is
/// detected.
#[test]
fn a_wire_that_ran_out_of_descriptors_says_so() {
    let script = project("tests/adapters/greedy.py");
    let lock = exec("python3", &script, "");
    let line = format!("scenario calm --impl {lock} --backend process --json --ttl 300ms");
    let outcome = picklock(&line).with_descriptors(64).run();
    assert!(matches!(outcome.code, Some(1 | 3)), "{}", outcome.all());
    undecided(&outcome, "the harness ran out of a resource");
    let trouble = outcome.document()["trouble"].to_string();
    assert!(trouble.contains("Too many open files"), "{trouble}");
}

//! Locks that flood the harness: it keeps little of the output, in memory and on disk, and reports this.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::adapters::{exec, project};
use crate::running::{Outcome, picklock};

/// Maximum memory of the harness, which needs about thirty megabytes itself.
const MAX_MEMORY_KB: u64 = 100 << 10;

const MAX_KEPT_BYTES: u64 = 50_000_000;

const FLOODED: &str = r#"
name = "flooded"
summary = "Nothing goes wrong but the adapter."
[workload]
stock = 1000000
ttl = "100ms"
wait = "100ms"
section = "20ms"
command_timeout = "100ms"
limit = "3s"
"#;

/// Returns the peak memory of a process in kilobytes, or `None` if it has exited.
fn peak_kb(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn bytes_in(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_in(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

/// Runs against this flood and checks the limits.
#[track_caller]
fn flooded(kind: &str) -> Outcome {
    let lock = exec("python3", &project("tests/adapters/flood.py"), kind);
    let line = format!("scenario flooded.toml --impl {lock} --backend process --json --out run");
    let run = picklock(&line).file("flooded.toml", FLOODED).start();
    let pid = run.pid();
    let peak = Arc::new(AtomicU64::new(0));
    let (end, ended) = mpsc::channel::<()>();
    // A peak never falls, so the time of the reading does not matter.
    let watch = std::thread::spawn({
        let peak = Arc::clone(&peak);
        move || {
            while let Some(kb) = peak_kb(pid) {
                peak.fetch_max(kb, Ordering::Relaxed);
                let woken = ended.recv_timeout(Duration::from_millis(10));
                if woken != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        }
    });
    let outcome = run.finish();
    drop(end);
    watch.join().unwrap();
    assert!(matches!(outcome.code, Some(1 | 3)), "{}", outcome.all());
    assert!(!outcome.stderr.contains("panicked"), "{}", outcome.all());
    let peak = peak.load(Ordering::Relaxed);
    let kept = bytes_in(&outcome.home().join("run"));
    println!("{kind}: {peak} kB of memory, {kept} bytes kept");
    assert!(
        peak > 0 && peak <= MAX_MEMORY_KB,
        "{kind}: {peak} kB of memory"
    );
    assert!(kept <= MAX_KEPT_BYTES, "{kind}: {kept} bytes kept");
    outcome.left_no_directory()
}

#[track_caller]
fn ended_for(kind: &str, said: &str) {
    let outcome = flooded(kind);
    let trouble = outcome.document()["trouble"].to_string();
    assert!(trouble.contains(said), "{kind}: no `{said}` in {trouble}");
}

#[test]
fn lines_that_are_no_messages() {
    ended_for("garbage", "it broke the adapter protocol");
}

#[test]
fn answers_that_nobody_asked_for() {
    ended_for("answers", "it broke the adapter protocol");
}

#[test]
fn events_without_an_end() {
    ended_for(
        "events",
        "broke the adapter protocol: it wrote more than 20000 events",
    );
}

#[test]
fn a_line_without_an_end() {
    // The run is over before the worker counts as hung.
    let outcome = flooded("line");
    let trouble = outcome.document()["trouble"].to_string();
    assert!(trouble.contains("xxxxxxxx"), "{trouble}");
}

#[test]
fn a_log_without_an_end() {
    let outcome = flooded("stderr");
    let log = outcome.text_file("run/worker-0.log");
    assert!(log.contains("[picklock: "), "{} bytes of log", log.len());
}

#[test]
fn half_commands_on_many_connections() {
    for kind in ["half", "pieces"] {
        let outcome = flooded(kind);
        let log = outcome.text_file("run/commands.jsonl");
        assert!(log.contains("\"outcome\":\"unparseable\""), "{kind}");
    }
}

#[test]
fn values_and_messages_that_are_huge() {
    flooded("replies");
    let outcome = flooded("messages");
    let history = outcome.text_file("run/history.jsonl");
    assert!(history.contains("… (cut: 50000"), "nothing is cut");
}

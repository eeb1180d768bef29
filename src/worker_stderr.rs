//! The standard error of a worker that failed, which is often more specific than the failure.

use std::collections::BTreeSet;
use std::path::Path;

use picklock_harness::history::{EventKind, History};

/// Maximum number of workers to quote.
const MAX_WORKERS: usize = 3;
const MAX_LINES: usize = 4;

/// Returns the last lines of each worker that died on its own or broke the protocol, for the list of failures. `logs`
/// is the directory of the workers' logs.
pub fn of(history: &History, logs: &Path) -> Vec<String> {
    let events = history.events.iter();
    let failed: BTreeSet<usize> = events
        .filter_map(|event| match event.what {
            EventKind::WorkerDown {
                worker,
                by_fault: false,
                ..
            }
            | EventKind::Misbehaved { worker, .. } => Some(worker),
            _ => None,
        })
        .collect();
    let quoted = failed.into_iter().take(MAX_WORKERS);
    quoted.flat_map(|worker| lines(worker, logs)).collect()
}

fn lines(worker: usize, logs: &Path) -> Vec<String> {
    let log = std::fs::read(logs.join(format!("worker-{worker}.log"))).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(MAX_LINES)..];
    let quoted = last.iter();
    quoted
        .map(|line| format!("worker {worker} wrote to its standard error: {line}"))
        .collect()
}

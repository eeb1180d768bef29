//! The standard error of a worker that failed, which is often more specific than the failure.

use std::collections::BTreeSet;
use std::path::Path;

use picklock_harness::history::{EventKind, History};
use picklock_reports::escape::shortened;

/// Maximum number of workers to quote.
const MAX_WORKERS: usize = 3;
const MAX_LINES: usize = 4;
/// Maximum length of a quoted line, in characters.
pub const MAX_LINE_LENGTH: usize = 500;

/// Returns the lines that explain the failure of each worker that died on its own or broke the protocol: the start of
/// its fatal trace, or else its last lines. `logs` is the directory of the workers' logs.
pub fn explain_failures(history: &History, logs: &Path) -> Vec<String> {
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
    let explaining = fatal_trace(&lines)
        .unwrap_or_else(|| lines[lines.len().saturating_sub(MAX_LINES)..].to_vec());
    let quoted = explaining.iter();
    quoted
        .map(|line| {
            let line = shortened(line, MAX_LINE_LENGTH);
            format!("client {worker} wrote to its standard error: {line}")
        })
        .collect()
}

/// Prefixes of stack frames that belong to a runtime: .NET, the JVM or Go.
const RUNTIMES: [&str; 12] = [
    "System.",
    "Microsoft.",
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "java.base/",
    "runtime.",
    "runtime/",
    "panic(",
    "goroutine ",
    "[signal ",
];

/// If `line` is the first line of a fatal trace, returns the text that precedes the function in each of its frames.
/// Python traces are not included, because their last line has the reason.
fn frame_mark(line: &str) -> Option<&'static str> {
    let of_jvm_or_net =
        line.starts_with("Unhandled exception") || line.contains("Exception in thread \"");
    let of_go = line.starts_with("panic: ") || line.starts_with("fatal error: ");
    let of_rust = line.starts_with("thread '") && line.contains("panicked at");
    of_jvm_or_net
        .then_some("at ")
        .or((of_go || of_rust).then_some(""))
}

/// Returns the first line of the last fatal trace, and the next line of interest: the first frame that does not belong
/// to a runtime, or the message of a Rust trace.
fn fatal_trace<'a>(lines: &[&'a str]) -> Option<Vec<&'a str>> {
    let (first, mark) = lines
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, line)| Some((at, frame_mark(line)?)))?;
    let frame = lines[first + 1..].iter().find(|line| {
        let function = line.trim_start().strip_prefix(mark);
        function.is_some_and(|function| !RUNTIMES.iter().any(|name| function.starts_with(name)))
    });
    Some([lines[first]].into_iter().chain(frame.copied()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(log: &str) -> Option<Vec<&str>> {
        fatal_trace(&log.lines().collect::<Vec<_>>())
    }

    #[test]
    fn fatal_trace_is_quoted_by_first_line_and_first_own_frame() {
        let traces = [
            (
                "Unhandled exception. System.ObjectDisposedException: It has been disposed.\n   \
                 at System.Threading.CancellationTokenSource.Cancel()\n   at A.Lock.Refresh(Int32 ms)\n   \
                 at System.Threading.TimerQueueTimer.Fire(Boolean isThreadPool)",
                [
                    "Unhandled exception. System.ObjectDisposedException: It has been disposed.",
                    "   at A.Lock.Refresh(Int32 ms)",
                ],
            ),
            (
                "Exception in thread \"main\" java.lang.IllegalStateException: no\n\tat java.base/java.util.A.b(A.java:1)\n\
                 \tat org.example.Lock.take(Lock.java:7)\n\tat java.base/java.lang.Thread.run(Thread.java:1)",
                [
                    "Exception in thread \"main\" java.lang.IllegalStateException: no",
                    "\tat org.example.Lock.take(Lock.java:7)",
                ],
            ),
            (
                "panic: no lock\ngoroutine 1 [running]:\npanic({0x1, 0x2})\nmain.take()\n\t/a/b.go:7 +0x1\nexit status 2",
                ["panic: no lock", "main.take()"],
            ),
            (
                "thread 'main' panicked at src/main.rs:7:1:\nno lock\nnote: run with `RUST_BACKTRACE=1`",
                ["thread 'main' panicked at src/main.rs:7:1:", "no lock"],
            ),
        ];
        for (log, expected) in traces {
            assert_eq!(explained(log).as_deref(), Some(&expected[..]));
        }
    }

    /// The last line of a Python trace has the reason.
    #[test]
    fn trace_of_python_is_no_fatal_trace() {
        let thread = "Exception in thread Thread-1 (renew):\nTraceback (most recent call last):\nValueError: no";
        assert_eq!(explained(thread), None);
    }
}

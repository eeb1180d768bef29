//! A worker's log: its standard error, with a maximum length.
//!
//! The beginning is written as it arrives. Only the end of the remaining output is kept, because the last lines are the
//! most useful. A marker states how many bytes were omitted in between.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;

/// Number of bytes of the beginning that are kept.
const MAX_HEAD: u64 = 1 << 20;

/// Number of bytes of the end that are kept.
const MAX_TAIL: usize = 64 << 10;

/// Time to wait for the last output after a worker has exited. A process that the worker left behind may keep the pipe
/// open.
const PIPE_GRACE: Duration = Duration::from_millis(250);

/// Maximum number of characters of a line to quote.
#[cfg(feature = "servers")]
const MAX_LINE: usize = 500;

/// Returns at most `max` lines from the end of a worker's log, or none if the log cannot be read. A long line is cut.
/// Only the first frame of each stack trace is kept, because most languages print the error before the trace.
#[cfg(feature = "servers")]
pub(crate) fn last_lines(log: &std::path::Path, max: usize) -> Vec<String> {
    let log = std::fs::read(log).unwrap_or_default();
    let mut lines: Vec<String> = Vec::new();
    let mut follows_frame = false;
    for line in String::from_utf8_lossy(&log).lines() {
        let is_frame = line.starts_with([' ', '\t']) && line.trim_start().starts_with("at ");
        if !(is_frame && follows_frame) {
            lines.push(line.to_owned());
        }
        follows_frame = is_frame;
    }
    let mut last = lines.split_off(lines.len().saturating_sub(max));
    for line in &mut last {
        if let Some((end, _)) = line.char_indices().nth(MAX_LINE) {
            line.truncate(end);
            line.push('…');
        }
    }
    last
}

/// Number of lines at the end of a log that are searched for the reason of a worker's death. A runtime prints a stack
/// trace after the reason.
#[cfg(feature = "servers")]
const MAX_TRACE: usize = 60;

/// Words of a line that names the reason of a death.
#[cfg(feature = "servers")]
const REASON_WORDS: [&str; 5] = ["panic", "exception", "error", "fatal", "abort"];

/// Returns the last line of a worker's log that names an error or, if no line does, the last line. Returns `None` if
/// the log is empty or cannot be read.
#[cfg(feature = "servers")]
pub(crate) fn last_log_line(log: &std::path::Path) -> Option<String> {
    let lines = last_lines(log, MAX_TRACE);
    let mut lines = lines.iter().map(|line| line.trim());
    let names_reason = |line: &&str| {
        let line = line.to_ascii_lowercase();
        REASON_WORDS.iter().any(|word| line.contains(word))
    };
    let last = lines.clone().rfind(|line| !line.is_empty())?;
    Some(lines.rfind(names_reason).unwrap_or(last).to_owned())
}

/// A handle that reports when a worker's log is complete.
#[derive(Clone)]
pub(super) struct CappedLog(watch::Receiver<bool>);

impl CappedLog {
    /// Appends the output of the worker to a file until it ends. Must be called inside a tokio runtime.
    pub(super) fn begin(from: impl AsyncRead + Send + Unpin + 'static, log: File) -> CappedLog {
        let (written, complete) = watch::channel(false);
        let length = log.metadata().map_or(0, |log| log.len());
        tokio::spawn(async move {
            // If the log cannot be written, the worker's output is read anyway, so that only the log is incomplete.
            copy(from, log, length).await.unwrap_or_default();
            written.send_replace(true);
        });
        CappedLog(complete)
    }

    /// Waits until the log is complete, for a limited time.
    pub(super) async fn written(&self) {
        let mut complete = self.0.clone();
        // If it takes longer, the task continues to write the log.
        let _ = tokio::time::timeout(PIPE_GRACE, complete.wait_for(|complete| *complete)).await;
    }
}

/// Appends the output to a log that has `length` bytes already.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut log: impl Write,
    length: u64,
) -> io::Result<()> {
    let mut head_left = MAX_HEAD.saturating_sub(length);
    let (mut tail, mut omitted) = (VecDeque::new(), 0_u64);
    let mut chunk = [0; 8 << 10];
    let mut failure = Ok(());
    loop {
        let count = from.read(&mut chunk).await?;
        if count == 0 {
            break;
        }
        let head = count.min(usize::try_from(head_left).unwrap_or(usize::MAX));
        head_left -= head as u64;
        if failure.is_ok() {
            failure = log.write_all(&chunk[..head]);
        }
        tail.extend(&chunk[head..count]);
        let excess = tail.len().saturating_sub(MAX_TAIL);
        tail.drain(..excess);
        omitted += excess as u64;
    }
    failure?;
    if omitted > 0 {
        let limit = MAX_HEAD >> 20;
        writeln!(
            log,
            "\n[picklock: {omitted} bytes omitted; a worker's log is limited to {limit} MiB]"
        )?;
    }
    log.write_all(tail.make_contiguous())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn logged(input: &[u8], length: u64) -> String {
        let mut log = Vec::new();
        copy(input, &mut log, length).await.unwrap();
        String::from_utf8(log).unwrap()
    }

    #[cfg(feature = "servers")]
    #[test]
    fn last_words_name_the_error_before_its_stack_trace() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("worker-0.log");
        let words = |text: &str| {
            std::fs::write(&log, text).unwrap();
            last_log_line(&log)
        };
        let dotnet = "ready\nUnhandled exception. System.Exception: lost\n   at Timer()\n\n";
        let expected = Some("Unhandled exception. System.Exception: lost".to_owned());
        assert_eq!(words(dotnet), expected);
        assert_eq!(words("one\nbye\n\n"), Some("bye".to_owned()));
        assert_eq!(words("\n"), None);
    }

    #[cfg(feature = "servers")]
    #[test]
    fn last_lines_name_the_error_before_its_stack_trace() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("worker-0.log");
        let frames = "    at load (node:internal/modules:1:1)\n".repeat(20);
        let text = format!("Error: Cannot find package 'ioredis'\n{frames}}}\n\nNode.js v20\n");
        std::fs::write(&log, text).unwrap();
        let expected = [
            "Error: Cannot find package 'ioredis'",
            "    at load (node:internal/modules:1:1)",
            "}",
            "",
            "Node.js v20",
        ];
        assert_eq!(last_lines(&log, 8), expected);
        std::fs::write(&log, "é".repeat(1 << 20)).unwrap();
        assert_eq!(last_lines(&log, 8), [format!("{}…", "é".repeat(MAX_LINE))]);
    }

    #[tokio::test]
    async fn short_log_is_complete() {
        assert_eq!(logged(b"one\ntwo", 5).await, "one\ntwo");
    }

    #[tokio::test]
    async fn long_log_keeps_its_beginning_and_its_end() {
        let middle = "m".repeat(5 << 20);
        let text = logged(format!("first\n{middle}\nlast").as_bytes(), 0).await;
        assert!(text.starts_with("first\nmmm") && text.ends_with("mmm\nlast"));
        let max = MAX_HEAD as usize + MAX_TAIL + 200;
        assert!(text.len() < max, "{}", text.len());
        let omitted = "first\n\nlast".len() + middle.len() - MAX_HEAD as usize - MAX_TAIL;
        let marker = format!("\n[picklock: {omitted} bytes omitted");
        assert!(text.contains(&marker));
    }

    /// A worker that is restarted appends to the existing log.
    #[tokio::test]
    async fn full_log_gets_only_a_tail() {
        let text = logged("m".repeat(MAX_TAIL + 7).as_bytes(), MAX_HEAD).await;
        assert!(text.starts_with("\n[picklock: 7 bytes omitted"));
        assert!(text.len() < MAX_TAIL + 200);
    }
}

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeWriter, Write};
use std::path::Path;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::watch;

/// What a server prints when it accepts connections; the same in Redis and Valkey.
const READY: &str = "Ready to accept connections";

/// What a Sentinel prints when it accepts connections.
const READY_SENTINEL: &str = "Sentinel ID is";

/// True for a line that says that connections are accepted.
pub(super) fn says_ready(line: &str) -> bool {
    line.contains(READY) || line.contains(READY_SENTINEL)
}

/// How many lines are kept in memory. The file has all of them.
const KEPT: usize = 200;

/// The log of one start of a server: what it prints, copied line by line to a file that all
/// starts of the same server share.
#[derive(Debug)]
pub(super) struct NodeLog {
    seen: watch::Receiver<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    ready: bool,
    ended: bool,
    lines: VecDeque<String>,
}

impl NodeLog {
    /// A log, and the pipe end that the server prints to. Copies of that end must not be kept:
    /// the log ends when all are closed.
    pub(super) fn open(path: &Path) -> io::Result<(NodeLog, PipeWriter)> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let (reader, writer) = io::pipe()?;
        let reader = pipe::Receiver::from_owned_fd(reader.into())?;
        let (tell, seen) = watch::channel(Seen::default());
        tokio::spawn(copy(reader, file, tell));
        Ok((NodeLog { seen }, writer))
    }

    /// Waits until the server is ready; false if all processes that could print have ended first.
    pub(super) async fn is_ready(&self) -> bool {
        let mut seen = self.seen.clone();
        let seen = seen.wait_for(|seen| seen.ready || seen.ended).await;
        seen.is_ok_and(|seen| seen.ready)
    }

    /// The last lines.
    pub(super) fn tail(&self, lines: usize) -> String {
        let seen = self.seen.borrow();
        let skipped = seen.lines.len().saturating_sub(lines);
        let kept: Vec<String> = seen.lines.range(skipped..).cloned().collect();
        kept.join("\n")
    }

    /// The last lines, as the end of an error message.
    pub(super) fn worker_stderr(&self) -> String {
        worker_stderr(&self.tail(10))
    }
}

/// The end of a log, as the end of an error message.
pub(super) fn worker_stderr(tail: &str) -> String {
    match tail.trim().is_empty() {
        true => "it said nothing".to_owned(),
        false => format!("its last words:\n{}", tail.trim_end()),
    }
}

async fn copy(reader: pipe::Receiver, mut file: File, tell: watch::Sender<Seen>) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        // The pipe must be drained even if the disk is full: a server that cannot print hangs.
        let _ = file.write_all(&line);
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        tell.send_modify(|seen| {
            seen.ready |= says_ready(&text);
            if seen.lines.len() == KEPT {
                seen.lines.pop_front();
            }
            seen.lines.push_back(text);
        });
    }
    tell.send_modify(|seen| seen.ended = true);
}

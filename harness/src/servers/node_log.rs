//! The output of a server: copied to its log file, and searched for the line that reports that the server is ready.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeWriter, Write};
use std::path::Path;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::watch;

/// Line that a server prints once it accepts connections; the same in Redis and Valkey.
const READY: &str = "Ready to accept connections";

/// Line that a Sentinel prints once it accepts connections.
const READY_SENTINEL: &str = "Sentinel ID is";

/// Returns `true` if this line reports that connections are accepted.
pub(super) fn is_ready_line(line: &str) -> bool {
    line.contains(READY) || line.contains(READY_SENTINEL)
}

/// Maximum number of lines in memory. The file contains all of them.
const MAX_LINES: usize = 200;

/// The log of one start of a server. Its output is copied line by line to a file that all starts of the same server
/// share.
#[derive(Debug)]
pub(super) struct NodeLog {
    output: watch::Receiver<Output>,
}

#[derive(Debug, Default)]
struct Output {
    ready: bool,
    ended: bool,
    lines: VecDeque<String>,
}

impl NodeLog {
    /// Opens a log. Returns the log and the end of a pipe for the server's output. The log ends when all copies of that
    /// end are closed, so the caller must not keep one.
    pub(super) fn open(path: &Path) -> io::Result<(NodeLog, PipeWriter)> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let (reader, writer) = io::pipe()?;
        let reader = pipe::Receiver::from_owned_fd(reader.into())?;
        let (sender, output) = watch::channel(Output::default());
        tokio::spawn(copy(reader, file, sender));
        Ok((NodeLog { output }, writer))
    }

    /// Waits until the server is ready. Returns `false` if all processes with access to the pipe have exited before
    /// that.
    pub(super) async fn is_ready(&self) -> bool {
        let mut receiver = self.output.clone();
        let output = receiver
            .wait_for(|output| output.ready || output.ended)
            .await;
        output.is_ok_and(|output| output.ready)
    }

    /// Returns the last `lines` lines.
    pub(super) fn tail(&self, lines: usize) -> String {
        let output = self.output.borrow();
        let skipped = output.lines.len().saturating_sub(lines);
        let tail: Vec<String> = output.lines.range(skipped..).cloned().collect();
        tail.join("\n")
    }

    /// Describes the end of the log, for the end of an error message.
    pub(super) fn describe_tail(&self) -> String {
        describe_tail(&self.tail(10))
    }
}

/// Describes the last lines of a log, for the end of an error message.
pub(super) fn describe_tail(tail: &str) -> String {
    if tail.trim().is_empty() {
        return "its log is empty".to_owned();
    }
    format!("the last lines of its log:\n{}", tail.trim_end())
}

async fn copy(reader: pipe::Receiver, mut file: File, sender: watch::Sender<Output>) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        // The pipe must be drained even if the disk is full, because a server that cannot write its output hangs.
        let _ = file.write_all(&line);
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        sender.send_modify(|output| {
            output.ready |= is_ready_line(&text);
            if output.lines.len() == MAX_LINES {
                output.lines.pop_front();
            }
            output.lines.push_back(text);
        });
    }
    sender.send_modify(|output| output.ended = true);
}

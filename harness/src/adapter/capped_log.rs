//! A worker's log: its standard error, with a limit on its length.
//!
//! The beginning is written as it comes. Of what comes after it only the end is kept, because the
//! last words say most; the log says how much lies between.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;

/// Bytes of the beginning that are kept.
const BEGINNING: u64 = 1 << 20;

/// Bytes of the end that are kept.
const END: usize = 64 << 10;

/// After the end of a worker: how long to wait for what it wrote last. A process that it left behind
/// may hold the pipe open.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// So many lines of the end of a worker's log; none if it cannot be read.
#[cfg(feature = "servers")]
pub(crate) fn last_lines(log: &std::path::Path, most: usize) -> Vec<String> {
    let log = std::fs::read(log).unwrap_or_default();
    let mut lines: Vec<String> = String::from_utf8_lossy(&log)
        .lines()
        .map(str::to_owned)
        .collect();
    lines.split_off(lines.len().saturating_sub(most))
}

/// Tells when a worker's log is complete.
#[derive(Clone)]
pub(super) struct CappedLog(watch::Receiver<bool>);

impl CappedLog {
    /// Copies what comes `from` the worker to the end of a file, until there is no more. Must be
    /// called inside a tokio runtime.
    pub(super) fn begin(from: impl AsyncRead + Send + Unpin + 'static, log: File) -> CappedLog {
        let (written, complete) = watch::channel(false);
        let length = log.metadata().map_or(0, |log| log.len());
        tokio::spawn(async move {
            // What cannot be written is read all the same, so only the log is not complete.
            copy(from, log, length).await.unwrap_or_default();
            written.send_replace(true);
        });
        CappedLog(complete)
    }

    /// Waits until everything is written, but not for long.
    pub(super) async fn written(&self) {
        let mut complete = self.0.clone();
        let complete = complete.wait_for(|complete| *complete);
        // If it takes longer, the log goes on without us.
        let _ = tokio::time::timeout(LAST_WORDS, complete).await;
    }
}

/// Appends to a log of this length.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut log: impl Write,
    length: u64,
) -> io::Result<()> {
    let mut room = BEGINNING.saturating_sub(length);
    let (mut end, mut omitted) = (VecDeque::new(), 0_u64);
    let mut chunk = [0; 8 << 10];
    let mut failure = Ok(());
    loop {
        let count = from.read(&mut chunk).await?;
        if count == 0 {
            break;
        }
        let beginning = count.min(usize::try_from(room).unwrap_or(usize::MAX));
        room -= beginning as u64;
        if failure.is_ok() {
            failure = log.write_all(&chunk[..beginning]);
        }
        end.extend(&chunk[beginning..count]);
        let excess = end.len().saturating_sub(END);
        end.drain(..excess);
        omitted += excess as u64;
    }
    failure?;
    if omitted > 0 {
        let limit = BEGINNING >> 20;
        writeln!(
            log,
            "\n[picklock: {omitted} bytes are left out here; a worker's log is cut at {limit} MiB]"
        )?;
    }
    log.write_all(end.make_contiguous())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn logged(input: &[u8], length: u64) -> String {
        let mut log = Vec::new();
        copy(input, &mut log, length).await.unwrap();
        String::from_utf8(log).unwrap()
    }

    #[tokio::test]
    async fn a_short_log_is_whole() {
        assert_eq!(logged(b"one\ntwo", 5).await, "one\ntwo");
    }

    #[tokio::test]
    async fn a_long_log_keeps_its_beginning_and_its_end() {
        let middle = "m".repeat(5 << 20);
        let text = logged(format!("first\n{middle}\nlast").as_bytes(), 0).await;
        assert!(text.starts_with("first\nmmm") && text.ends_with("mmm\nlast"));
        let most = BEGINNING as usize + END + 200;
        assert!(text.len() < most, "{}", text.len());
        let omitted = "first\n\nlast".len() + middle.len() - BEGINNING as usize - END;
        let said = format!("\n[picklock: {omitted} bytes are left out here");
        assert!(text.contains(&said));
    }

    /// A worker that starts again goes on with the log that there is.
    #[tokio::test]
    async fn a_log_that_is_full_gets_only_an_end() {
        let text = logged("m".repeat(END + 7).as_bytes(), BEGINNING).await;
        assert!(text.starts_with("\n[picklock: 7 bytes are left out here"));
        assert!(text.len() < END + 200);
    }
}

//! The effect of a power loss on an append-only file that is synced every second.
//!
//! A killed server does not lose data that it has written, because the kernel still has the data. A power loss removes
//! the data written since the last sync, up to one second. The harness simulates the worst case: it records the length
//! of the file over time, and truncates it to its length one second before the kill.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::clock::Clock;

/// Maximum age of unsynced data with `everysec`, according to Redis's documentation.
const SYNC_INTERVAL_NS: u64 = 1_000_000_000;

/// Interval between two measurements of the length. The truncation removes at most the data of one second plus this
/// interval.
const MEASURE_INTERVAL: Duration = Duration::from_millis(10);

/// Records the length of a server's append-only file while the server runs.
#[derive(Debug)]
pub(super) struct UnsyncedTail {
    lengths: Arc<Mutex<VecDeque<AofLength>>>,
    clock: Clock,
    recording: JoinHandle<()>,
}

/// Length of the file at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AofLength {
    at_ns: u64,
    file: PathBuf,
    length: u64,
}

impl UnsyncedTail {
    /// Starts to record. Must be called when the server is ready, because the data that the server has loaded is
    /// durable.
    pub(super) fn watch(data: &Path) -> UnsyncedTail {
        let clock = Clock::start();
        let lengths = Arc::new(Mutex::new(VecDeque::from_iter(measure(data, &clock))));
        let recording = tokio::spawn(record_lengths(
            data.to_owned(),
            clock.clone(),
            Arc::clone(&lengths),
        ));
        UnsyncedTail {
            lengths,
            clock,
            recording,
        }
    }

    /// Returns the time for [`cut`](UnsyncedTail::cut).
    pub(super) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Truncates the file of the dead server to its length one second before `lost_at_ns`. If the server began the file
    /// later than that, because it rewrote the old file, the file starts from a synced state and is not truncated.
    pub(super) fn cut(&self, lost_at_ns: u64) -> io::Result<()> {
        let lengths = self.lengths.lock().unwrap_or_else(PoisonError::into_inner);
        if lengths.is_empty() {
            let problem =
                "the append-only file was never found: the server may keep its data elsewhere";
            return Err(io::Error::new(io::ErrorKind::NotFound, problem));
        }
        let Some(measured) = durable(&lengths, lost_at_ns) else {
            return Ok(());
        };
        let file = OpenOptions::new().write(true).open(&measured.file)?;
        if file.metadata()?.len() > measured.length {
            file.set_len(measured.length)?;
        }
        Ok(())
    }
}

impl Drop for UnsyncedTail {
    fn drop(&mut self) {
        self.recording.abort();
    }
}

/// Returns the newest length that is at least one sync interval old, or the first one if the server is younger.
fn durable(lengths: &VecDeque<AofLength>, lost_at_ns: u64) -> Option<&AofLength> {
    let synced_ns = lost_at_ns.saturating_sub(SYNC_INTERVAL_NS);
    let mut newest_first = lengths.iter().rev();
    let newest = newest_first.find(|measured| measured.at_ns <= synced_ns);
    let durable = newest.or(lengths.front());
    let file = &lengths.back()?.file;
    durable.filter(|measured| measured.file == *file)
}

async fn record_lengths(data: PathBuf, clock: Clock, lengths: Arc<Mutex<VecDeque<AofLength>>>) {
    loop {
        tokio::time::sleep(MEASURE_INTERVAL).await;
        let Some(measured) = measure(&data, &clock) else {
            continue;
        };
        let mut lengths = lengths.lock().unwrap_or_else(PoisonError::into_inner);
        let synced_ns = measured.at_ns.saturating_sub(SYNC_INTERVAL_NS);
        // If two lengths are both old enough, only the newer one is needed.
        while lengths.get(1).is_some_and(|next| next.at_ns <= synced_ns) {
            lengths.pop_front();
        }
        lengths.push_back(measured);
    }
}

fn measure(data: &Path, clock: &Clock) -> Option<AofLength> {
    let at_ns = clock.now_ns();
    let file = append_only_file(data)?;
    let length = std::fs::metadata(&file).ok()?.len();
    Some(AofLength {
        at_ns,
        file,
        length,
    })
}

/// Returns the file that the server appends to: the newest increment (Redis 7 and Valkey), or the only file (Redis 6).
fn append_only_file(data: &Path) -> Option<PathBuf> {
    let increments = std::fs::read_dir(data.join("appendonlydir")).ok();
    increments
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter_map(|path| Some((increment_number(&path)?, path)))
        .max()
        .map(|(_, path)| path)
        .or_else(|| Some(data.join("appendonly.aof")).filter(|path| path.is_file()))
}

/// Returns the number in a name such as `appendonly.aof.7.incr.aof`.
fn increment_number(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?.strip_suffix(".incr.aof")?;
    name.rsplit('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length_at(at_ms: u64, file: &str, length: u64) -> AofLength {
        AofLength {
            at_ns: at_ms * 1_000_000,
            file: file.into(),
            length,
        }
    }

    #[test]
    fn last_second_is_not_durable() {
        let lengths: VecDeque<AofLength> = [(0, 1), (900, 2), (1000, 3), (1010, 4), (1900, 5)]
            .map(|(at_ms, length)| length_at(at_ms, "a", length))
            .into();
        let length = |lost_ms: u64| durable(&lengths, lost_ms * 1_000_000).unwrap().length;
        assert_eq!(
            [length(500), length(2000), length(2009), length(2010)],
            [1, 3, 3, 4]
        );
    }

    #[test]
    fn file_begun_within_the_last_second_is_not_cut() {
        let lengths = VecDeque::from([length_at(0, "a", 10), length_at(900, "b", 0)]);
        assert_eq!(durable(&lengths, 1_500_000_000), None);
        assert_eq!(durable(&VecDeque::new(), 0), None);
    }

    #[test]
    fn newest_increment_is_the_append_only_file() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(append_only_file(dir.path()), None);
        let parts = dir.path().join("appendonlydir");
        std::fs::create_dir(&parts).unwrap();
        for name in ["9.incr.aof", "10.incr.aof", "11.base.rdb", "manifest"] {
            std::fs::write(parts.join(format!("appendonly.aof.{name}")), "").unwrap();
        }
        let expected = parts.join("appendonly.aof.10.incr.aof");
        assert_eq!(append_only_file(dir.path()), Some(expected));
    }
}

//! What a power loss takes of an append-only file that is synced every second.
//!
//! A killed server loses nothing that it has written: the kernel still has it. A machine without
//! power loses what was written since the last sync, up to a second's worth. The harness looks for
//! the worst moment, so it takes all of that second: it notes how long the file was, and cuts it
//! back to what it held a second before the kill.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::clock::Clock;

/// The longest that `everysec` leaves unsynced, in Redis's own words.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// How often the length is noted: the cut takes at most so much more than the second.
const NOTE_INTERVAL: Duration = Duration::from_millis(10);

/// Notes the length of one server's append-only file while the server runs.
#[derive(Debug)]
pub(super) struct Unsynced {
    notes: Arc<Mutex<VecDeque<Note>>>,
    clock: Clock,
    taking: JoinHandle<()>,
}

/// How long the file was at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Note {
    at_ns: u64,
    file: PathBuf,
    length: u64,
}

impl Unsynced {
    /// Begins with a server that has just got ready: what it has loaded is durable.
    pub(super) fn watch(data: &Path) -> Unsynced {
        let clock = Clock::start();
        let notes = Arc::new(Mutex::new(VecDeque::from_iter(note(data, &clock))));
        let taking = tokio::spawn(take_notes(
            data.to_owned(),
            clock.clone(),
            Arc::clone(&notes),
        ));
        Unsynced {
            notes,
            clock,
            taking,
        }
    }

    /// The moment of the power loss, for [`cut`](Unsynced::cut).
    pub(super) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Cuts the file of the dead server back to what it held a second before its end. Where the
    /// server has begun another file since, which it does when it rewrites the file, that one
    /// starts from a synced state, and is left as it is.
    pub(super) fn cut(&self, lost_at_ns: u64) -> io::Result<()> {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(note) = durable(&notes, lost_at_ns) else {
            return Ok(());
        };
        let file = OpenOptions::new().write(true).open(&note.file)?;
        if file.metadata()?.len() > note.length {
            file.set_len(note.length)?;
        }
        Ok(())
    }
}

impl Drop for Unsynced {
    fn drop(&mut self) {
        self.taking.abort();
    }
}

/// The newest note that is a sync interval old; of a server that is younger, its first.
fn durable(notes: &VecDeque<Note>, lost_at_ns: u64) -> Option<&Note> {
    let synced_ns = lost_at_ns.saturating_sub(interval_ns());
    let newest = notes.iter().rev().find(|note| note.at_ns <= synced_ns);
    let file = &notes.back()?.file;
    newest.or(notes.front()).filter(|note| note.file == *file)
}

fn interval_ns() -> u64 {
    SYNC_INTERVAL.as_nanos() as u64
}

async fn take_notes(data: PathBuf, clock: Clock, notes: Arc<Mutex<VecDeque<Note>>>) {
    loop {
        tokio::time::sleep(NOTE_INTERVAL).await;
        let Some(note) = note(&data, &clock) else {
            continue;
        };
        let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
        let synced_ns = note.at_ns.saturating_sub(interval_ns());
        // The first of two old ones will never be the newest old one again.
        while notes.get(1).is_some_and(|second| second.at_ns <= synced_ns) {
            notes.pop_front();
        }
        notes.push_back(note);
    }
}

fn note(data: &Path, clock: &Clock) -> Option<Note> {
    let at_ns = clock.now_ns();
    let file = append_only_file(data)?;
    let length = std::fs::metadata(&file).ok()?.len();
    Some(Note {
        at_ns,
        file,
        length,
    })
}

/// The file that the server appends to: the newest increment (Redis 7 and Valkey), or the only
/// file (Redis 6).
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

/// The number in `appendonly.aof.7.incr.aof`.
fn increment_number(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?.strip_suffix(".incr.aof")?;
    name.rsplit('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note_at(at_ms: u64, file: &str, length: u64) -> Note {
        Note {
            at_ns: at_ms * 1_000_000,
            file: file.into(),
            length,
        }
    }

    #[test]
    fn the_last_second_is_not_durable() {
        let notes: VecDeque<Note> = [(0, 1), (900, 2), (1000, 3), (1010, 4), (1900, 5)]
            .map(|(at_ms, length)| note_at(at_ms, "a", length))
            .into();
        let length = |lost_ms: u64| durable(&notes, lost_ms * 1_000_000).unwrap().length;
        assert_eq!(
            [length(500), length(2000), length(2009), length(2010)],
            [1, 3, 3, 4]
        );
    }

    #[test]
    fn a_file_begun_since_is_left_alone() {
        let notes = VecDeque::from([note_at(0, "a", 10), note_at(900, "b", 0)]);
        assert_eq!(durable(&notes, 1_500_000_000), None);
        assert_eq!(durable(&VecDeque::new(), 0), None);
    }

    #[test]
    fn the_newest_increment_is_what_is_appended_to() {
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

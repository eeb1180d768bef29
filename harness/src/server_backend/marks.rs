//! The marks in a server's report: everything before a mark that has come back has been read.

use std::cell::Cell;

use tokio::sync::Notify;

/// The marks that were sent to one server.
#[derive(Default)]
pub(super) struct Marks {
    /// Number of the last mark that was sent.
    pub(super) sent: Cell<u64>,
    /// Number of the last mark that has come back.
    pub(super) seen: Cell<u64>,
    /// Notified when a mark has come back.
    pub(super) changed: Notify,
}

impl Marks {
    /// Handles a word echoed in the MONITOR output; words that start with `beginning` are marks of this run.
    pub(super) fn echoed(&self, word: &[u8], beginning: &str) {
        let mark = std::str::from_utf8(word).ok();
        let mark = mark.and_then(|word| word.strip_prefix(beginning)?.parse().ok());
        if let Some(mark) = mark {
            self.seen.set(self.seen.get().max(mark));
            self.changed.notify_waiters();
        }
    }
}

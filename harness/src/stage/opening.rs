//! Who comes first: the door before which the other buyers wait.

use std::cell::Cell;
use std::time::Duration;

use picklock_scenarios::Opening;
use tokio::sync::Notify;

/// Whoever waited comes strictly later than what he waited for, by the coarsest clock of a world:
/// so the checkers can tell which of the two was first.
const STRICTLY_LATER: Duration = Duration::from_millis(2);

/// Open from the beginning, or closed to all but worker 0 until something has happened to it.
#[derive(Debug)]
pub struct Door {
    open: Cell<bool>,
    opened: Notify,
}

impl Door {
    /// As the scenario wants it.
    pub fn of(opening: Opening) -> Self {
        Door {
            open: Cell::new(opening == Opening::Together),
            opened: Notify::new(),
        }
    }

    /// Lets everybody in, for good.
    pub fn open(&self) {
        self.open.set(true);
        self.opened.notify_waiters();
    }

    /// Waits until this worker may begin.
    pub async fn enter(&self, worker: usize) {
        if worker == 0 {
            return;
        }
        if self.open.get() {
            return;
        }
        while !self.open.get() {
            self.opened.notified().await;
        }
        tokio::time::sleep(STRICTLY_LATER).await;
    }
}

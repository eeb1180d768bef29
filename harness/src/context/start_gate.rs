//! Which worker starts first: the gate at which the others wait.

use std::cell::Cell;
use std::time::Duration;

use picklock_scenarios::StartOrder;
use tokio::sync::Notify;

/// A worker that waited starts strictly later than the event that it waited for, even on the
/// coarsest clock of a backend. So the checkers know which of the two came first.
const STRICTLY_LATER: Duration = Duration::from_millis(2);

/// Open from the start, or closed to all but worker 0 until its first attempt has been answered or
/// a fault has struck.
#[derive(Debug)]
pub struct StartGate {
    open: Cell<bool>,
    opened: Notify,
}

impl StartGate {
    /// The gate that the scenario asks for.
    pub fn new(start: StartOrder) -> Self {
        StartGate {
            open: Cell::new(start == StartOrder::Together),
            opened: Notify::new(),
        }
    }

    /// Opens the gate to all workers, for good.
    pub fn open(&self) {
        self.open.set(true);
        self.opened.notify_waiters();
    }

    /// Waits until this worker may begin.
    pub async fn pass(&self, worker: usize) {
        if worker == 0 || self.open.get() {
            return;
        }
        while !self.open.get() {
            self.opened.notified().await;
        }
        tokio::time::sleep(STRICTLY_LATER).await;
    }
}

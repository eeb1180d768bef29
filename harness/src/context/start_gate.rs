//! A gate that holds back all workers but worker 0 until its first attempt was answered or a fault has fired.

use std::cell::Cell;
use std::time::Duration;

use picklock_scenarios::StartOrder;
use tokio::sync::Notify;

/// Delay of a worker that waited. It starts strictly later than the event that it waited for, even
/// on the coarsest clock of a backend, so that the checkers know the order of the two.
const DELAY_AFTER_OPENING: Duration = Duration::from_millis(2);

/// A gate that is open from the start, or closed to all workers but 0 until its first attempt has
/// been answered or a fault has fired.
#[derive(Debug)]
pub struct StartGate {
    open: Cell<bool>,
    opened: Notify,
}

impl StartGate {
    /// Creates the gate that the scenario asks for.
    pub fn new(start: StartOrder) -> Self {
        StartGate {
            open: Cell::new(start == StartOrder::Together),
            opened: Notify::new(),
        }
    }

    /// Opens the gate permanently.
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
        tokio::time::sleep(DELAY_AFTER_OPENING).await;
    }
}

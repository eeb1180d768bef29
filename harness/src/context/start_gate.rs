//! A gate that holds back all workers but client 0 until its first attempt was answered or a fault has fired.

use std::cell::Cell;
use std::time::Duration;

use picklock_scenarios::StartOrder;
use tokio::sync::Notify;

/// Additional delay of a worker that waited at the gate. Because of it, the worker starts strictly later than the event
/// that opened the gate, even on the coarsest clock of a backend, so that the order of the two is certain.
const DELAY_AFTER_OPENING: Duration = Duration::from_millis(2);

/// A gate that is either open from the start, or closed to all workers except client 0 until the first attempt of
/// client 0 has been answered or a fault has fired.
#[derive(Debug)]
pub struct StartGate {
    open: Cell<bool>,
    opened: Notify,
}

impl StartGate {
    /// Creates the gate for the scenario's start order.
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

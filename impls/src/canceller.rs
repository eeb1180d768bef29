//! A client that gives up waiting.

use std::cell::Cell;
use std::rc::Rc;

use tokio::sync::Notify;

/// The request of a lock's user to give up an acquisition, like an `AbortSignal` or a cancelled task.
///
/// The built-in locks then end their wait, but finish a command in flight, because no client would own the lock that it
/// takes. So either the lock was not taken, or the user is granted it anyway and releases it.
#[derive(Debug, Clone, Default)]
pub struct Canceller(Rc<CancelRequest>);

#[derive(Debug, Default)]
struct CancelRequest {
    is_cancelled: Cell<bool>,
    cancelled: Notify,
}

impl Canceller {
    /// Gives up the current acquisition.
    pub fn cancel(&self) {
        self.0.is_cancelled.set(true);
        self.0.cancelled.notify_waiters();
    }

    /// Resets the request when a new acquisition begins.
    pub fn reset(&self) {
        self.0.is_cancelled.set(false);
    }

    /// Returns `true` if the acquisition was given up.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.get()
    }

    /// Waits until the acquisition is given up.
    pub async fn cancelled(&self) {
        while !self.is_cancelled() {
            self.0.cancelled.notified().await;
        }
    }
}

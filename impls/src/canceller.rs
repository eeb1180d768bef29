//! A client that gives up waiting.

use std::cell::Cell;
use std::rc::Rc;

use tokio::sync::Notify;

/// The wish of a lock's user to give up an acquisition, as an `AbortSignal` or a cancelled task is.
///
/// The built-in locks end their wait then, and not a command that is on its way: what it takes would be nobody's. So
/// the lock either was not taken, or the user is granted it all the same, and releases it.
#[derive(Debug, Clone, Default)]
pub struct Canceller(Rc<Wish>);

#[derive(Debug, Default)]
struct Wish {
    is_cancelled: Cell<bool>,
    told: Notify,
}

impl Canceller {
    /// The acquisition that is under way is given up.
    pub fn cancel(&self) {
        self.0.is_cancelled.set(true);
        self.0.told.notify_waiters();
    }

    /// A new acquisition begins, which nobody has given up.
    pub fn reset(&self) {
        self.0.is_cancelled.set(false);
    }

    /// True if it was given up.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.get()
    }

    /// Waits until it is given up.
    pub async fn cancelled(&self) {
        while !self.is_cancelled() {
            self.0.told.notified().await;
        }
    }
}

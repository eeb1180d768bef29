//! Ends a run before its clients are done, if nothing more can be learned from it.

use std::cell::Cell;
use std::time::Duration;

use tokio::sync::Notify;

use crate::history::EndReason;

/// How long to wait for further deaths. Workers that die together are not observed to die at the same instant.
const GRACE: Duration = Duration::from_millis(200);

/// A request to end the run.
#[derive(Default)]
pub struct EarlyEnd {
    reason: Cell<Option<EndReason>>,
    requested: Notify,
}

impl EarlyEnd {
    /// Requests the end of the run. Only the first reason counts.
    pub fn request(&self, reason: EndReason) {
        if self.reason.get().is_none() {
            self.reason.set(Some(reason));
            self.requested.notify_one();
        }
    }

    /// Waits until an end is requested, and returns the reason.
    pub async fn requested(&self) -> EndReason {
        loop {
            self.requested.notified().await;
            if let Some(reason) = self.reason.get() {
                if reason == EndReason::TooFewClients {
                    tokio::time::sleep(GRACE).await;
                }
                return reason;
            }
        }
    }
}

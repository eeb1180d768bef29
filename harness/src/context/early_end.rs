//! Why a run ends before its buyers are done: nothing more can be learned from it.

use std::cell::Cell;
use std::time::Duration;

use tokio::sync::Notify;

use crate::history::EndReason;

/// Workers that die together are not seen to die at one time. So long it is waited for the others.
const TOGETHER: Duration = Duration::from_millis(200);

/// The wish to end a run.
#[derive(Default)]
pub struct EarlyEnd {
    reason: Cell<Option<EndReason>>,
    requested: Notify,
}

impl EarlyEnd {
    /// The run shall end, for this reason. The first one counts.
    pub fn request(&self, reason: EndReason) {
        if self.reason.get().is_none() {
            self.reason.set(Some(reason));
            self.requested.notify_one();
        }
    }

    /// Waits until the run shall end, and returns why.
    pub async fn requested(&self) -> EndReason {
        loop {
            self.requested.notified().await;
            if let Some(reason) = self.reason.get() {
                if reason == EndReason::TooFewClients {
                    tokio::time::sleep(TOGETHER).await;
                }
                return reason;
            }
        }
    }
}

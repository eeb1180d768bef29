//! Ends a run before its clients are done, if nothing more can be learned from it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::Notify;

use crate::history::EndReason;

/// How long to wait for further deaths. Workers that die together are not observed to die at the same instant.
const GRACE: Duration = Duration::from_millis(200);

/// Number of errors per worker after which a lock counts as granting nothing, if no client has got any other answer.
const MAX_ERRORS: u32 = 20;

/// A request to end the run.
#[derive(Default)]
pub struct EarlyEnd {
    reason: Cell<Option<EndReason>>,
    requested: Notify,
    answers: RefCell<AcquireAnswers>,
}

/// The answers to `acquire`.
#[derive(Default)]
struct AcquireAnswers {
    /// Whether any answer was not an error.
    other: bool,
    /// Number of errors by worker.
    errors: BTreeMap<usize, u32>,
}

impl EarlyEnd {
    /// Requests the end of the run. Only the first reason counts.
    pub fn request(&self, reason: EndReason) {
        if self.reason.get().is_none() {
            self.reason.set(Some(reason));
            self.requested.notify_one();
        }
    }

    /// Records an answer to `acquire`. Returns `true` if all `workers` clients have got enough errors, and no client
    /// has got any other answer.
    pub fn got_only_errors(&self, worker: usize, is_error: bool, workers: usize) -> bool {
        let mut answers = self.answers.borrow_mut();
        answers.other |= !is_error;
        if answers.other {
            return false;
        }
        *answers.errors.entry(worker).or_default() += 1;
        let mut errors = answers.errors.values();
        answers.errors.len() >= workers && errors.all(|errors| *errors >= MAX_ERRORS)
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

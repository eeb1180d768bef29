//! Tracks whether the lock offers the features that the scenario requires, such as extensions, its lease, or clients
//! that share a process. If the lock lacks one, the run ends, and the scenario is not applicable.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use picklock_scenarios::LockFeature;
use tokio::sync::Notify;

use crate::history::EventKind;

/// Number of definite errors per worker after which the run ends, if the workers got no other answer.
const MAX_DEFINITE_ERRORS: u32 = 3;

/// The requests that the lock has declined so far.
#[derive(Debug, Default)]
pub struct Applicability {
    extension_requested: Cell<bool>,
    has_extended: Cell<bool>,
    cannot_extend: RefCell<Option<String>>,
    has_reentered: Cell<bool>,
    answers_act: Cell<bool>,
    not_offered: Cell<Option<LockFeature>>,
    lease: RefCell<LeaseAnswers>,
    declined: Notify,
}

/// The lock's answers to `acquire`.
#[derive(Debug, Default)]
struct LeaseAnswers {
    /// Whether any answer was not a definite error.
    other: bool,
    /// Number of definite errors per worker.
    definite_errors: BTreeMap<usize, u32>,
    /// Message of the first definite error.
    message: Option<String>,
}

impl Applicability {
    /// Records that a holder is about to request an extension.
    pub fn record_extension_request(&self) {
        self.extension_requested.set(true);
    }

    /// Records that the lock answers requests for permission to act.
    pub fn record_answers_act(&self) {
        self.answers_act.set(true);
    }

    /// Returns `true` if the lock answers requests for permission to act.
    pub fn answers_act(&self) -> bool {
        self.answers_act.get()
    }

    /// Records that a holder got an extension.
    pub fn record_extended(&self) {
        self.has_extended.set(true);
    }

    /// Records that the lock reports that it cannot extend. Returns `false` if the lock has granted an extension
    /// before, which makes the report a failure.
    pub fn cannot_extend(&self, message: &str) -> bool {
        if self.has_extended.get() {
            return false;
        }
        let mut cannot_extend = self.cannot_extend.borrow_mut();
        cannot_extend.get_or_insert_with(|| message.to_owned());
        self.declined.notify_one();
        true
    }

    /// Returns an event if the run tested no extension.
    pub fn extension_untested(&self) -> Option<EventKind> {
        let unsupported = self.cannot_extend.borrow().clone();
        (unsupported.is_some() || !self.extension_requested.get())
            .then_some(EventKind::ExtensionUntested { unsupported })
    }

    /// Records whether a holder was granted its lock again. A lock that never grants it does not
    /// offer the feature, whatever it reports.
    pub fn record_reentered(&self, granted: bool) {
        if granted {
            self.has_reentered.set(true);
        } else if !self.has_reentered.get() {
            self.does_not_offer(LockFeature::Reenter);
        }
    }

    /// Records that the lock does not offer a feature that the scenario requires.
    pub fn does_not_offer(&self, feature: LockFeature) {
        self.not_offered.set(Some(feature));
        self.declined.notify_one();
    }

    /// Returns the feature that the scenario requires and the lock does not offer, or `None` if there is none.
    pub fn not_offered(&self) -> Option<LockFeature> {
        self.not_offered.get()
    }

    /// Records that a worker got a definite error for `acquire`. `workers` is the number of workers, or `None` if the
    /// error may have a reason other than the lease.
    pub fn record_definite_error(&self, worker: usize, message: &str, workers: Option<usize>) {
        let mut lease = self.lease.borrow_mut();
        lease.message.get_or_insert_with(|| message.to_owned());
        *lease.definite_errors.entry(worker).or_default() += 1;
        let times = lease.definite_errors.values();
        let patient = times.filter(|times| **times >= MAX_DEFINITE_ERRORS);
        if !lease.other && workers == Some(patient.count()) {
            self.declined.notify_one();
        }
    }

    /// Records that a worker got another answer to `acquire`.
    pub fn record_other_answer(&self) {
        self.lease.borrow_mut().other = true;
    }

    /// Returns the message of the first definite error if no worker has got any other answer to `acquire`.
    pub fn only_definite_errors(&self) -> Option<String> {
        let lease = self.lease.borrow();
        lease.message.clone().filter(|_| !lease.other)
    }

    /// Waits until the lock has declined a request of the scenario, so that the run can end.
    pub async fn declined(&self) {
        self.declined.notified().await;
    }
}

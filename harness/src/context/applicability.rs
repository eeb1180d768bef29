//! Whether the lock offers what the scenario asks for: extensions, a lease of its length, clients that share a process. A run with a lock
//! that does not is ended, and is not applicable.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use picklock_scenarios::LockFeature;
use tokio::sync::Notify;

use crate::history::EventKind;

/// So often each worker asks for a lease that is refused with a definite error each time, before the run ends.
const ASKED_IN_VAIN: u32 = 3;

/// What the lock has declined so far.
#[derive(Debug, Default)]
pub struct Applicability {
    asked_to_extend: Cell<bool>,
    has_extended: Cell<bool>,
    cannot_extend: RefCell<Option<String>>,
    has_reentered: Cell<bool>,
    not_offered: Cell<Option<LockFeature>>,
    lease: RefCell<LeaseAnswers>,
    declined: Notify,
}

/// How the lock has answered to `acquire`.
#[derive(Debug, Default)]
struct LeaseAnswers {
    /// Something else than a definite error.
    other: bool,
    /// How many definite errors each worker got.
    in_vain: BTreeMap<usize, u32>,
    /// The first of them.
    message: Option<String>,
}

impl Applicability {
    /// A holder is about to ask for an extension.
    pub fn record_asked_to_extend(&self) {
        self.asked_to_extend.set(true);
    }

    /// A holder got one.
    pub fn record_extended(&self) {
        self.has_extended.set(true);
    }

    /// The lock says that it cannot be extended. False if it has done so before: then that is a failure.
    pub fn cannot_extend(&self, message: &str) -> bool {
        if self.has_extended.get() {
            return false;
        }
        let mut cannot_extend = self.cannot_extend.borrow_mut();
        cannot_extend.get_or_insert_with(|| message.to_owned());
        self.declined.notify_one();
        true
    }

    /// The event that tells that the run tested no extension, if it did not.
    pub fn extension_untested(&self) -> Option<EventKind> {
        let unsupported = self.cannot_extend.borrow().clone();
        (unsupported.is_some() || !self.asked_to_extend.get())
            .then_some(EventKind::ExtensionUntested { unsupported })
    }

    /// A holder took its lock once more, or was not granted it. A lock that never grants it does not offer it, whatever
    /// it says.
    pub fn record_reentered(&self, granted: bool) {
        if granted {
            self.has_reentered.set(true);
        } else if !self.has_reentered.get() {
            self.does_not_offer(LockFeature::Reenter);
        }
    }

    /// The lock does not offer what the scenario asks for.
    pub fn does_not_offer(&self, feature: LockFeature) {
        self.not_offered.set(Some(feature));
        self.declined.notify_one();
    }

    /// What the scenario asks for and the lock does not offer.
    pub fn not_offered(&self) -> Option<LockFeature> {
        self.not_offered.get()
    }

    /// A worker was told with a definite error that it does not get the lock. `workers`: how many there are, if
    /// nothing but the lease can be the reason.
    pub fn record_definite_error(&self, worker: usize, message: &str, workers: Option<usize>) {
        let mut lease = self.lease.borrow_mut();
        lease.message.get_or_insert_with(|| message.to_owned());
        *lease.in_vain.entry(worker).or_default() += 1;
        let times = lease.in_vain.values();
        let patient = times.filter(|times| **times >= ASKED_IN_VAIN);
        if !lease.other && workers == Some(patient.count()) {
            self.declined.notify_one();
        }
    }

    /// A worker got another answer to `acquire`.
    pub fn record_other_answer(&self) {
        self.lease.borrow_mut().other = true;
    }

    /// The first definite error, if nobody has got another answer to `acquire`.
    pub fn in_vain(&self) -> Option<String> {
        let lease = self.lease.borrow();
        lease.message.clone().filter(|_| !lease.other)
    }

    /// Is ready when the run need not go on.
    pub async fn declined(&self) {
        self.declined.notified().await;
    }
}

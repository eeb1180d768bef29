//! What became of the extensions that a scenario asks holders to make. A run that tested none of
//! them says so.

use std::cell::{Cell, RefCell};

use crate::history::EventKind;

/// The extensions of a run so far.
#[derive(Debug, Default)]
pub struct Extensions {
    asked: Cell<bool>,
    unsupported: RefCell<Option<String>>,
}

impl Extensions {
    /// A holder is about to ask for one.
    pub fn note_asked(&self) {
        self.asked.set(true);
    }

    /// The lock answered that it cannot be extended.
    pub fn note_unsupported(&self, message: &str) {
        let mut unsupported = self.unsupported.borrow_mut();
        unsupported.get_or_insert_with(|| message.to_owned());
    }

    /// The event that tells that the run tested no extension, if it did not.
    pub fn untested(&self) -> Option<EventKind> {
        let unsupported = self.unsupported.borrow().clone();
        (unsupported.is_some() || !self.asked.get())
            .then_some(EventKind::ExtensionUntested { unsupported })
    }
}

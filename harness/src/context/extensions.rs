//! What became of the extensions that a scenario asks holders to make. A run that tested none of
//! them says so.

use std::cell::{Cell, RefCell};

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

    /// Why the run tested no extension, if it did not.
    pub fn why_untested(&self) -> Option<String> {
        match &*self.unsupported.borrow() {
            Some(message) => Some(format!("the lock cannot be extended: {message}")),
            None if !self.asked.get() => Some("no holder came to extend its lease".into()),
            None => None,
        }
    }
}
